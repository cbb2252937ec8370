/** The subjects of rules: the consumer and the endpoints as parameters of Dubbo's URLs, and the request. */

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

/** The parts of a request that rules depend on. */
export interface RuleRequest {
  readonly method: string;
  /** Returns the value of an attachment, which is a header in Triple. */
  attachment(name: string): string | undefined;
  /** Returns an argument as text; `undefined` if it is not known. */
  argument(index: number): string | undefined;
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
