/** Matches of texts and parameters: `{ exact: gray }`, `{ key: env, value: { prefix: gr } }`. */
import { fieldsOf, isPresent, textOf } from "./document.ts";
import type { Parameters } from "./subject.ts";

/** The tests of a text, by the member of a match that is set. The first one in this order counts. */
const MATCHES: Readonly<Record<string, (text: string, value: string | undefined) => boolean>> = {
  exact: (text, value) => value === text,
  prefix: (text, value) => value?.startsWith(text) ?? false,
  wildcard: (text, value) => value !== undefined && (text === "*" || value === text),
  empty: (_, value) => !value,
  noempty: (_, value) => !!value,
};

/** Parses the match of a text. Throws an `Error` if it is malformed. */
export function textMatch(given: unknown, at: string): (value: string | undefined) => boolean {
  const value = fieldsOf(given, at);
  if (isPresent(value["regex"])) {
    throw new Error(`${at}.regex is not supported, because an expression may stop the process: use exact or prefix`);
  }
  const [kind, test] = Object.entries(MATCHES).find(([name]) => isPresent(value[name])) ?? [];
  if (test === undefined) throw new Error(`${at} must have one of ${Object.keys(MATCHES).join(", ")}`);
  const text = String(value[kind as string]);
  return (actual) => test(text, actual);
}

/** Parses the match of a parameter. Throws an `Error` if it is malformed. */
export function parameterMatch(given: unknown, at: string): (subject: Parameters) => boolean {
  const fields = fieldsOf(given, at);
  const key = textOf(fields["key"], `${at}.key`);
  if (key === undefined) throw new Error(`${at} has no key`);
  const test = textMatch(fields["value"], `${at}.value`);
  return (subject) => test(subject.get(key));
}
