/**
 * The text of a rule that may change. A malformed text is reported, and the last good one stays; an empty or absent one
 * removes the rule.
 */
import { parseAffinityRule, parseConditionRule } from "./condition-rule.ts";
import type { Rule } from "./subject.ts";
import { parseTagRule } from "./tag-rule.ts";

/** The kinds of rules that route calls: the ends of their keys. */
export type RuleKind = "tag-router" | "affinity-router" | "condition-router";

/** The parsers of rules by their kinds. An empty text is the one that applies without a rule. */
export const ROUTERS: Readonly<Record<RuleKind, (text: string) => Rule>> = {
  "tag-router": parseTagRule,
  "affinity-router": parseAffinityRule,
  "condition-router": parseConditionRule,
};

/** The maximum length of a reason, in characters: it may quote a value whose aliases are written out. */
const MAX_REASON = 500;

export class RuleText<T> {
  /** The key in the config center. `undefined`: there is no text. */
  readonly key: string | undefined;
  /** The rule of the last good text, at first the one for no text. */
  rule: T;
  isKnown: boolean;
  /** Ends the watch of the text. */
  stop = (): void => {};
  readonly #parse: (text: string) => T;
  readonly #warn: (problem: string) => void;
  #text = "";

  constructor(parse: (text: string) => T, key: string | undefined, warn: (problem: string) => void) {
    this.#parse = parse;
    this.#warn = warn;
    this.key = key;
    this.rule = parse("");
    this.isKnown = key === undefined;
  }

  /** Replaces the text. */
  set(text = ""): void {
    if (this.isKnown && text === this.#text) return;
    // Before its first text, it may have the rule of another application.
    if (!this.isKnown) this.rule = this.#parse("");
    this.isKnown = true;
    this.#text = text;
    try {
      this.rule = this.#parse(text);
    } catch (reason) {
      const { message } = reason as Error;
      this.#warn(`the rule ${this.key} is ignored, and the last one stays: ${message.slice(0, MAX_REASON)}`);
    }
  }
}
