/** Bodies of responses. */
import type { Body } from "triple-es";

export function bodyOf(whole: Uint8Array): Body {
  return {
    whole,
    bytes: async () => whole,
    async *[Symbol.asyncIterator]() {
      yield whole;
    },
  };
}
