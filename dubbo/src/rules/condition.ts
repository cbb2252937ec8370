/**
 * Conditions: one side of Dubbo's condition rules, such as `method=get*,find* & region!=hz`. All keys must match.
 *
 *     Condition → *( separator value )
 *     separator → none or "&" before a key, "=" or "!=" before a value, "," before one more value
 */
import type { Parameters, RuleRequest } from "./subject.ts";

/** The value of a key that cannot be found, as in Dubbo: it equals no value, so that `!=` holds. */
const MISSING = "dubbo_internal_not_found_argument_condition_value";

/** The patterns of one key. */
interface Patterns {
  readonly matches: Set<string>;
  readonly mismatches: Set<string>;
}

/** A condition: the patterns of each key. */
export type Condition = ReadonlyMap<string, Patterns>;

/** Parses a condition. Throws an `Error` that begins with `at`. `prefix` is a beginning of keys that has no meaning. */
export function parseCondition(text: string, at: string, prefix?: RegExp): Condition {
  const condition = new Map<string, Patterns>();
  let patterns: Patterns | undefined;
  let values: Set<string> | undefined;
  for (const { separator, content } of tokensOf(text)) {
    if (separator === "" || separator === "&") {
      const key = prefix === undefined ? content : content.replace(prefix, "");
      // The body of a request is unknown when its endpoint is chosen.
      if (key.startsWith("arguments")) throw new Error(`${at}: ${key} is not supported, use attachments`);
      const known = separator === "&" ? condition.get(key) : undefined;
      patterns = known ?? { matches: new Set(), mismatches: new Set() };
      condition.set(key, patterns);
    } else if (separator === "=" || separator === "!=") {
      if (patterns === undefined)
        throw new Error(`${at}: "${separator}" before "${content}" in "${text.trim()}" has no key`);
      values = separator === "=" ? patterns.matches : patterns.mismatches;
      values.add(content);
    } else if (separator === ",") {
      if (values === undefined) throw new Error(`${at}: "," before "${content}" in "${text.trim()}" follows no value`);
      values.add(content);
    } else {
      throw new Error(`${at}: "${separator}" before "${content}" in "${text.trim()}" must be "=", "!=", "&" or ","`);
    }
  }
  return condition;
}

/** Splits a condition as the expression `([&!=,]*)\s*([^&!=,\s]+)` does in Dubbo, in linear time. */
function* tokensOf(text: string): Generator<{ readonly separator: string; readonly content: string }> {
  let separator = "";
  for (const [, separators, content] of text.matchAll(/([&!=,]+)|([^&!=, \t\n\v\f\r]+)/g)) {
    if (content !== undefined) yield { separator, content };
    separator = separators ?? "";
  }
}

type Test = (value: string) => boolean;
type RequestTest = (request: RuleRequest) => boolean;

/**
 * Compiles the `when` side of a rule. `false`: the consumer does not match, whatever the request is. Otherwise the tests of
 * requests; the condition holds if all of them pass.
 */
export function compileWhen(condition: Condition, consumer: Parameters): false | readonly RequestTest[] {
  const tests: RequestTest[] = [];
  for (const [key, patterns] of condition) {
    const isMethod = key === "method" || key === "methods";
    const test = compilePatterns(patterns, isMethod ? javaName : (pattern) => pattern, false);
    const read = isMethod ? ({ method }: RuleRequest) => method : requestReader(key);
    if (read === undefined) {
      const value = consumer.get(key);
      if (value === undefined || !test(value)) return false;
    } else {
      tests.push((request) => {
        const value = read(request);
        return value !== undefined && test(value);
      });
    }
  }
  return tests;
}

/** Compiles the `then` side of a rule: a test of endpoints. */
export function compileThen(condition: Condition, consumer: Parameters): (endpoint: Parameters) => boolean {
  const tests = [...condition].map(([key, patterns]) => {
    const globOf = (text: string): string => (text.startsWith("$") ? (consumer.get(text.slice(1)) ?? "") : text);
    const test = compilePatterns(patterns, globOf, true);
    return (endpoint: Parameters): boolean => {
      const value = key.startsWith("attachments") ? MISSING : endpoint.get(key);
      return value !== undefined && test(value);
    };
  });
  return (endpoint) => tests.every((test) => test(endpoint));
}

/** Returns the name of a method in Java, which begins in lower case. */
export const javaName = (method: string): string => method.charAt(0).toLowerCase() + method.slice(1);

/** Returns the function that reads the value of a key from a request. `undefined`: it is a parameter of the consumer. */
function requestReader(key: string): ((request: RuleRequest) => string | undefined) | undefined {
  if (!key.startsWith("attachments")) return undefined;
  const name = /^attachments\[([^\]]+)\]/.exec(key)?.[1];
  return name === undefined ? () => MISSING : (request) => request.attachment(name);
}

function compilePatterns(patterns: Patterns, globOf: (text: string) => string, ifInvalid: boolean): Test {
  const compile = (text: string): Test => (text.includes("~") ? rangeTest(text, ifInvalid) : globTest(globOf(text)));
  const [excluded, included] = [[...patterns.mismatches].map(compile), [...patterns.matches].map(compile)];
  if (included.length === 0 && excluded.length === 0) return () => false;
  if (excluded.length === 0 && included.length === 1) return included[0] as Test;
  return (value) =>
    !excluded.some((test) => test(value)) && (included.length === 0 || included.some((test) => test(value)));
}

/**
 * Makes the test of a range: `1~100`, `~100` or `10~`, both ends included. A value that is not a number counts as 0, as in
 * Dubbo. An invalid range passes all values or none.
 */
function rangeTest(pattern: string, ifInvalid: boolean): Test {
  const [from = "", end = ""] = pattern.split("~");
  if (from === "" && end === "") return () => ifInvalid;
  const [min, max] = [from === "" ? -1 : integerOf(from), end === "" ? MAX_INTEGER : integerOf(end)];
  if (min === undefined || max === undefined) return () => ifInvalid;
  return (value) => {
    const number = integerOf(value);
    return number === undefined ? ifInvalid : number >= min && number <= max;
  };
}

/** The largest `int` of Java. */
const MAX_INTEGER = 2_147_483_647;

/** Reads an integer as Dubbo does: 0 for a text that is not a number, `undefined` for a number that is too large. */
function integerOf(text: string): number | undefined {
  if (!/^[0-9]+$/.test(text)) return 0;
  const number = Number(text);
  return number > MAX_INTEGER ? undefined : number;
}

/** Makes the test of a pattern in which the last `*` stands for any text. */
export function globTest(pattern: string): Test {
  if (pattern === "*") return () => true;
  if (pattern === "") return (value) => value === "";
  const star = pattern.lastIndexOf("*");
  if (star < 0) return (value) => value === pattern;
  const [prefix, suffix] = [pattern.slice(0, star), pattern.slice(star + 1)];
  return (value) => value !== "" && value.startsWith(prefix) && value.endsWith(suffix);
}
