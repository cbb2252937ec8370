/**
 * Matches of parameters in rules: `{ key, value }`, where `value` is one of `exact`, `prefix`, `regex`, `wildcard`, `empty`
 * and `noempty`. The first one in this order counts.
 */
import { fieldsOf, isPresent, textOf } from "./document.ts";

/** A match of a text. */
export interface TextMatch {
  readonly kind: (typeof KINDS)[number];
  readonly text: string;
}

const KINDS = ["exact", "prefix", "wildcard", "empty", "noempty"] as const;

/** Parses the match of a parameter. Throws an `Error` with the reason if it is malformed. */
export function parseMatch(given: unknown, at: string): { readonly key: string; readonly value: TextMatch } {
  const fields = fieldsOf(given, at);
  const key = textOf(fields["key"], `${at}.key`);
  if (key === undefined) throw new Error(`${at} has no key`);
  return { key, value: parseTextMatch(fields["value"], `${at}.value`) };
}

/** Parses the match of a text. Throws an `Error` with the reason if it is malformed. */
export function parseTextMatch(given: unknown, at: string): TextMatch {
  const fields = fieldsOf(given, at);
  if (isPresent(fields["regex"])) {
    throw new Error(`${at}.regex is not supported, because one expression could stop the process: use exact or prefix`);
  }
  const kind = KINDS.find((one) => isPresent(fields[one]));
  if (kind === undefined) throw new Error(`${at} must have one of ${KINDS.join(", ")}`);
  return { kind, text: String(fields[kind]) };
}

/** Tests a text. */
export function matchText({ kind, text }: TextMatch, value: string | undefined): boolean {
  switch (kind) {
    case "exact":
      return value === text;
    case "prefix":
      return value?.startsWith(text) ?? false;
    case "wildcard":
      return value !== undefined && (text === "*" || value === text);
    case "empty":
      return !value;
    case "noempty":
      return !!value;
  }
}
