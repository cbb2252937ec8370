/**
 * The text of a rule that may change. A malformed text is reported, and the last good one stays; an empty or absent one
 * removes the rule.
 */
import { parseAffinityRule, parseConditionRule } from "./condition-rule.ts";
import type { Rule } from "./subject.ts";
import { parseTagRule, tagRouting } from "./tag-rule.ts";

/** The kinds of rules: the ends of their keys. */
export type RuleKind = "tag-router" | "affinity-router" | "condition-router";

/** The parsers of rules, and what applies without a rule. */
const KINDS: Readonly<Record<RuleKind, { readonly parse: (text: string) => Rule; readonly absent: Rule }>> = {
  "tag-router": { parse: parseTagRule, absent: tagRouting([], false) },
  "affinity-router": { parse: parseAffinityRule, absent: () => [] },
  "condition-router": { parse: parseConditionRule, absent: () => [] },
};

export class RuleText {
  /** The rule of the last good text. */
  rule: Rule;
  readonly #kind: RuleKind;
  readonly #warn: (reason: string) => void;
  #text = "";

  constructor(kind: RuleKind, warn: (reason: string) => void) {
    this.#kind = kind;
    this.#warn = warn;
    this.rule = KINDS[kind].absent;
  }

  /** Replaces the text. */
  set(text = ""): void {
    if (text === this.#text) return;
    this.#text = text;
    const { parse, absent } = KINDS[this.#kind];
    try {
      this.rule = text.trim() === "" ? absent : parse(text);
    } catch (reason) {
      this.#warn((reason as Error).message);
    }
  }
}
