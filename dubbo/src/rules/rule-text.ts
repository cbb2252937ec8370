/**
 * The text of a rule that may change. A malformed text is reported, and the last good one stays; an empty or absent one
 * removes the rule.
 */
import { parseAffinityRule, parseConditionRule } from "./condition-rule.ts";
import { type Override, parseConfigurators } from "./configurators.ts";
import type { Rule } from "./subject.ts";
import { parseTagRule, tagRouting } from "./tag-rule.ts";

/** The kinds of rules that route calls: the ends of their keys. */
export type RuleKind = "tag-router" | "affinity-router" | "condition-router";

/** The format of a rule: its parser, and what applies without a rule. */
export interface RuleFormat<T> {
  readonly parse: (text: string) => T;
  readonly absent: T;
}

export const ROUTERS: Readonly<Record<RuleKind, RuleFormat<Rule>>> = {
  "tag-router": { parse: parseTagRule, absent: tagRouting([], false) },
  "affinity-router": { parse: parseAffinityRule, absent: () => [] },
  "condition-router": { parse: parseConditionRule, absent: () => [] },
};

export const CONFIGURATORS: RuleFormat<readonly Override[]> = { parse: parseConfigurators, absent: [] };

/** The maximum length of a reason, in characters: it may quote a value whose aliases are written out. */
const MAX_REASON = 500;

export class RuleText<T> {
  /** The rule of the last good text, at first the one for no text. */
  rule: T;
  readonly #format: RuleFormat<T>;
  readonly #warn: (reason: string) => void;
  #text: string | undefined;

  constructor(format: RuleFormat<T>, warn: (reason: string) => void) {
    this.#format = format;
    this.#warn = warn;
    this.rule = format.absent;
  }

  /** Replaces the text. */
  set(text = ""): void {
    if (text === this.#text) return;
    // Before its first text, it may have the rule of another application.
    if (this.#text === undefined || text.trim() === "") this.rule = this.#format.absent;
    this.#text = text;
    try {
      if (text.trim() !== "") this.rule = this.#format.parse(text);
    } catch (reason) {
      this.#warn((reason as Error).message.slice(0, MAX_REASON));
    }
  }
}
