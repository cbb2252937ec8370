/** The types of streams in signatures. */
import type { TripleOptions } from "./options.ts";

/**
 * Returns the type of a stream of init types that the user passes or returns. Such a stream is usually a generator. A
 * compiler compares two generator types by their type arguments, but an iterable type member by member, which takes
 * three times as long.
 */
export function givenStream(init: string, { initTypes }: TripleOptions): string {
  return `${initTypes === "expanded" ? `AsyncGenerator<${init}> | ` : ""}AsyncIterable<${init}>`;
}
