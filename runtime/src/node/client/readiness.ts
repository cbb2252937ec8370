/**
 * Wait for ready (gRPC): requests wait for a server that cannot be reached, in an engine that connects for each request.
 */
import { noteObstacle } from "../../call/context.ts";
import { endpointRemoved, type RpcError, transportClosed } from "../../call/error.ts";
import type { Exchange, HttpRequest } from "../../http/exchange.ts";
import { ReplayBody } from "../../http/replay.ts";
import { ExchangeFailure, errorOf, mayRetry } from "../../http/transparent-retry.ts";
import type { ConnectionAttempts } from "./attempts.ts";

/**
 * The error of a request after `close` of the connections. If requests can go to other servers (`waitForReady` is
 * `undefined`), the list of endpoints may have changed after this one was picked, and the request goes to another one.
 */
export function closedError(peer: string, waitForReady: boolean | undefined): RpcError | ExchangeFailure {
  return waitForReady === undefined ? new ExchangeFailure(endpointRemoved(peer), "unprocessed") : transportClosed();
}

/**
 * Repeats an exchange that found no connection, if its request waits for ready. `attempts` makes one connection attempt at a
 * time for all waiting requests until one succeeds. `byDefault` applies to requests that do not set `waitForReady`; if it is
 * `undefined`, no request waits.
 */
export function waitingExchange(
  exchange: Exchange,
  attempts: ConnectionAttempts,
  byDefault: boolean | undefined,
): Exchange {
  if (byDefault === undefined) return exchange;

  async function exchangeWhenReady(request: HttpRequest): ReturnType<Exchange> {
    const { signal, body } = request;
    const replay = body.whole === undefined ? new ReplayBody(body) : undefined;
    const sent = replay === undefined ? request : { ...request, body: replay };
    try {
      for (;;) {
        try {
          return await exchange(sent);
        } catch (error) {
          if (!mayRetry(sent, error, "whenConnected")) throw error;
          noteObstacle(signal, errorOf(error) as RpcError);
        }
        await attempts.ready(signal, true);
      }
    } finally {
      replay?.settle();
    }
  }

  return (request) => ((request.context?.waitForReady ?? byDefault) ? exchangeWhenReady(request) : exchange(request));
}
