/**
 * Connections of tests and benchmarks that report to an observer.
 */
import { abortError } from "../../runtime/src/call/error.ts";
import type { Exchange, ExchangeObserver } from "../../runtime/src/http/exchange.ts";

/** Makes exchange functions that report to an observer. The ends of responses are unknown. */
export const observedBy =
  (exchange: Exchange) =>
  ({ onEnd, onFailure }: ExchangeObserver): Exchange =>
  (sent) => {
    if (sent.signal?.aborted) return Promise.reject(abortError(sent.signal));
    return exchange(sent).then(
      (received) => {
        onEnd?.(sent, received, "unknown");
        return received;
      },
      (reason) => onFailure(sent, reason),
    );
  };
