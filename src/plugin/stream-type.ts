/** The types of streams in signatures. */
import type { TripleOptions } from "./options.ts";

/**
 * A stream that a user makes, out of init types. Usually it comes from a generator: a compiler compares that with another
 * generator by their type arguments, but with an iterable member by member, which costs three times as much.
 */
export function givenStream(init: string, { initTypes }: TripleOptions): string {
  return `${initTypes === "expanded" ? `AsyncGenerator<${init}> | ` : ""}AsyncIterable<${init}>`;
}
