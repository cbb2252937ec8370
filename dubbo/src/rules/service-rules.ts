/**
 * The rules of a service that a consumer calls: their keys in a config center, their texts, and their order.
 */
import type { Balancer, RoutedBalancer, ServiceKey } from "triple-es/discovery";
import { routed } from "./routed.ts";
import { type RuleKind, RuleText } from "./rule-text.ts";

/** Options of {@link rules}. */
export interface RulesOptions {
  /** The name of the consumer's application, for its own rules and for conditions such as `application=web`. */
  readonly application: string;
  /**
   * Other parameters of the consumer, for conditions such as `region=hz` and `region=$region`. `dubbo.tag` is the tag of calls
   * that have none. Default: none.
   */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  /** Texts of rules by their keys, such as `shop.tag-router`, in place of those in the registry. Default: none. */
  readonly texts?: Readonly<Record<string, string>> | undefined;
}

/** Traffic rules of a consumer, for the option `rules` of registries. */
export interface Rules {
  /** Returns the rules of a service. `host` is the address of the consumer. */
  readonly of: (key: ServiceKey, host: string) => ServiceRules;
}

/** Watches the text under a key of a config center. Returns the function that ends it. */
export type WatchText = (key: string, onText: (text: string | undefined) => void) => () => void;

/** The kinds of rules and those whose they are, in the order in which they are applied, as in Dubbo for Java. */
const ORDER: readonly (readonly [kind: RuleKind, owner: "service" | "provider" | "consumer"])[] = [
  ["tag-router", "provider"],
  ["affinity-router", "service"],
  ["affinity-router", "provider"],
  ["condition-router", "service"],
  ["condition-router", "provider"],
  ["condition-router", "consumer"],
];

/**
 * Makes the traffic rules of a consumer: the tag, condition and affinity rules of Dubbo. Throws a `TypeError` for an invalid
 * option.
 */
export function rules(options: RulesOptions): Rules {
  const { application, texts = {} } = options;
  if (typeof application !== "string" || application === "") {
    throw new TypeError(`application of rules must be the name of the consumer, not ${JSON.stringify(application)}`);
  }
  for (const [key, text] of Object.entries(texts)) {
    const kind = ORDER.find(([one]) => key.endsWith(`.${one}`))?.[0];
    if (kind === undefined) {
      throw new TypeError(`texts: ${key} must end with .tag-router, .condition-router or .affinity-router`);
    }
    new RuleText(kind, (reason) => {
      throw new TypeError(`texts: ${key} is invalid: ${reason}`);
    }).set(text);
  }
  return { of: (key, host) => new ServiceRules(options, key, host) };
}

/** A rule of a service. */
interface OpenRule {
  /** `undefined`: there is no owner. */
  readonly key: string | undefined;
  readonly text: RuleText;
  isKnown: boolean;
  stop: () => void;
}

/** The rules of a service. They stay while no config center is watched. */
export class ServiceRules {
  /** The number of changes. */
  changes = 0;
  readonly #options: RulesOptions;
  readonly #service: Readonly<Record<string, string>>;
  readonly #host: string;
  readonly #names: { readonly service: string; readonly consumer: string; provider: string | undefined };
  readonly #rules: OpenRule[] = ORDER.map(([kind]) => this.#create(kind, undefined));
  #watch: WatchText = () => () => {};
  #warn: (problem: string) => void = () => {};

  constructor(options: RulesOptions, { service, group = "", version = "" }: ServiceKey, host: string) {
    this.#options = options;
    this.#host = host;
    this.#service = { interface: service, path: service, ...(group && { group }), ...(version && { version }) };
    const { application } = options;
    this.#names = { service: `${service}:${version}:${group}`, consumer: application, provider: undefined };
  }

  /** Watches the texts until {@link stop}. */
  start(watch: WatchText, warn: (problem: string) => void): void {
    this.#watch = watch;
    this.#warn = warn;
    for (const rule of this.#rules) this.#open(rule);
    this.provide(undefined);
  }

  stop(): void {
    for (const rule of this.#rules) rule.stop();
  }

  /** Uses the rules of the application that provides the service. Returns true if all texts are known. */
  provide(application: string | undefined): boolean {
    this.#names.provider = application ?? this.#names.provider;
    for (const [index, [kind, owner]] of ORDER.entries()) {
      const name = this.#names[owner];
      // The rules of a consumer that calls its own application would be applied twice.
      const isTwice = kind === "condition-router" && owner === "provider" && name === this.#names.consumer;
      const key = name === undefined || isTwice ? undefined : `${name}.${kind}`;
      if (this.#rules[index]?.key === key) continue;
      this.#rules[index]?.stop();
      this.changes++;
      this.#rules[index] = this.#create(kind, key);
    }
    return this.#rules.every(({ isKnown }) => isKnown);
  }

  #create(kind: RuleKind, key: string | undefined): OpenRule {
    const warn = (reason: string): void => this.#warn(`the rule ${key} is ignored, and the last one stays: ${reason}`);
    const rule: OpenRule = { key, text: new RuleText(kind, warn), isKnown: key === undefined, stop: () => {} };
    this.#open(rule);
    return rule;
  }

  #open(rule: OpenRule): void {
    if (rule.key === undefined) return;
    const { texts = {} } = this.#options;
    const set = (text: string | undefined): void => {
      rule.text.set(text);
      rule.isKnown = true;
      this.changes++;
    };
    if (Object.hasOwn(texts, rule.key)) set(texts[rule.key]);
    else rule.stop = this.#watch(rule.key, set);
  }

  /** Restricts a policy by the rules. */
  route(policy: Balancer): RoutedBalancer {
    const { application, parameters } = this.#options;
    const own = { ...this.#service, application, side: "consumer", ...parameters };
    const consumer = new Map(Object.entries({ ...own, protocol: "consumer", host: this.#host, address: this.#host }));
    const current = () => this.#rules.map(({ text }) => text.rule);
    return routed(policy, current, consumer, { ...this.#service, side: "provider" });
  }
}
