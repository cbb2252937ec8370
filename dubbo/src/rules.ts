/**
 * Entry point `triple-es-dubbo/rules`: traffic rules of Dubbo, for consumers that find their servers in a registry.
 *
 * @module triple-es-dubbo/rules
 */

export { type Rules, type RulesOptions, rules, type ServiceRules, type WatchText } from "./rules/service-rules.ts";
export { forwardTag } from "./rules/tag-rule.ts";
