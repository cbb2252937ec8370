/**
 * The text of a rule that may change. A malformed text is reported, and the last good one stays; an empty or absent one
 * removes the rule.
 */
import { parseAffinityRule } from "./affinity-rule.ts";
import { parseConditionRule } from "./condition-rule.ts";
import type { Rule } from "./subject.ts";
import { parseTagRule } from "./tag-rule.ts";

/** The kinds of rules: the ends of their keys. */
export type RuleKind = "tag-router" | "affinity-router" | "condition-router";

/** The parsers of rules. */
const PARSERS: Readonly<Record<RuleKind, (text: string) => Rule>> = {
  "tag-router": parseTagRule,
  "affinity-router": parseAffinityRule,
  "condition-router": parseConditionRule,
};

/** A text, and what the last good one means. */
export class ParsedText<T> {
  readonly #parse: (text: string) => T;
  readonly #warn: (reason: string) => void;
  #text = "";
  #value: T | undefined;

  constructor(parse: (text: string) => T, warn: (reason: string) => void) {
    this.#parse = parse;
    this.#warn = warn;
  }

  /** The meaning of the last good text. `undefined`: there is no rule. */
  get value(): T | undefined {
    return this.#value;
  }

  /** Replaces the text. */
  set(text = ""): void {
    if (text === this.#text) return;
    this.#text = text;
    try {
      this.#value = text.trim() === "" ? undefined : this.#parse(text);
    } catch (reason) {
      this.#warn((reason as Error).message);
    }
  }
}

/** A rule of a kind. */
export function ruleText(kind: RuleKind, warn: (reason: string) => void): ParsedText<Rule> {
  return new ParsedText<Rule>(PARSERS[kind], warn);
}
