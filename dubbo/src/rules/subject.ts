/**
 * The subjects of rules: the consumer and the endpoints as parameters of Dubbo's URLs, the matches of these, and the request.
 */
import { fieldsOf, isPresent, textOf } from "./document.ts";

/**
 * Parameters of a consumer or of an endpoint, with `protocol`, `host`, `port`, `address` (`host:port`) and `path`, which are
 * not parameters in Dubbo's URLs.
 */
export type Parameters = ReadonlyMap<string, string>;

/** An endpoint, as rules see it. */
export interface Candidate {
  /** Its position in the list that rules are applied to. */
  readonly index: number;
  readonly parameters: Parameters;
}

/** The parts of a request that rules depend on. The method has its name in Java: `greet`, if it is `Greet` in the proto file. */
export interface RuleRequest {
  readonly method: string;
  /** Returns the value of an attachment, which is a header in Triple. */
  attachment(name: string): string | undefined;
}

/** A part of the endpoints that calls are distributed to by weight. */
export interface Destination {
  readonly weight: number;
  readonly candidates: readonly Candidate[];
}

/**
 * A rule, prepared for a consumer and a list of endpoints. `outcomeOf` reads all that the rule needs from the request, so
 * that its result is the key under which the result of `route` is remembered.
 */
export interface Stage {
  /** Absent: the rule does not depend on the request. */
  readonly outcomeOf?: (request: RuleRequest) => string | boolean;
  /** Returns where calls with the outcome may go. One destination without candidates: nowhere. */
  readonly route: (candidates: readonly Candidate[], outcome: string | boolean) => readonly Destination[];
}

/** Makes the stages of a rule. `all` are the endpoints before any rule was applied. */
export type Rule = (consumer: Parameters, all: readonly Candidate[]) => readonly Stage[];

/** The only destination of calls. */
export function to(candidates: readonly Candidate[]): readonly Destination[] {
  return [{ weight: 1, candidates }];
}

/** Returns the candidates that pass; the same list if all pass. */
export function keep(candidates: readonly Candidate[], test: (one: Candidate) => boolean): readonly Candidate[] {
  const kept = candidates.filter(test);
  return kept.length === candidates.length ? candidates : kept;
}

/** The tests of a text, by the member of a match that is set. The first one in this order counts. */
const MATCHES: Readonly<Record<string, (text: string, value: string | undefined) => boolean>> = {
  exact: (text, value) => value === text,
  prefix: (text, value) => value?.startsWith(text) ?? false,
  wildcard: (text, value) => value !== undefined && (text === "*" || value === text),
  empty: (_, value) => !value,
  noempty: (_, value) => !!value,
};

/** Parses the match of a text, such as `{ exact: gray }`. Throws an `Error` if it is malformed. */
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

/** Parses the match of a parameter, such as `{ key: env, value: { prefix: gr } }`. Throws an `Error` if it is malformed. */
export function parameterMatch(given: unknown, at: string): (subject: Parameters) => boolean {
  const fields = fieldsOf(given, at);
  const key = textOf(fields["key"], `${at}.key`);
  if (key === undefined) throw new Error(`${at} has no key`);
  const test = textMatch(fields["value"], `${at}.value`);
  return (subject) => test(subject.get(key));
}
