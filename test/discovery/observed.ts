/**
 * Connections of tests and benchmarks that report to an observer.
 */
import { abortError } from "../../runtime/src/call/error.ts";
import type { Body } from "../../runtime/src/http/body.ts";
import type { Exchange, ExchangeObserver } from "../../runtime/src/http/exchange.ts";

/** Makes exchange functions that report to an observer. The ends of responses are unknown. */
export const observedBy =
  (exchange: Exchange) =>
  ({ onEnd, onFailure }: ExchangeObserver): Exchange =>
  (sent) => {
    const { signal } = sent;
    if (signal?.aborted) return Promise.reject(abortError(signal));
    return exchange(sent).then(
      (received) => {
        const { status, headers, trailers, body } = received;
        let isOver = false;
        const end = (): void => {
          if (!isOver) onEnd?.(sent, received, "unknown");
          isOver = true;
        };
        if (body.whole !== undefined) {
          end();
          return received;
        }
        signal?.addEventListener("abort", end);
        return { status, headers, trailers, body: ending(body, end) };
      },
      (reason) => onFailure(sent, reason),
    );
  };

/** The same body. Calls back when it has been read or left, as engines do. */
function ending(body: Body, end: () => void): Body {
  return {
    bytes: (...limits) => body.bytes(...limits).finally(end),
    async *[Symbol.asyncIterator]() {
      try {
        yield* body;
      } finally {
        end();
      }
      return undefined;
    },
  };
}
