/**
 * Wait for ready (gRPC): requests wait for a server that cannot be reached, in an engine that connects for each request.
 */
import { isUnprocessed } from "../../call/attempt.ts";
import { noteObstacle } from "../../call/context.ts";
import type { RpcError } from "../../call/error.ts";
import type { Exchange, HttpRequest } from "../../http/exchange.ts";
import { ReplayBody } from "../../http/replay.ts";
import type { ConnectionAttempts } from "./attempts.ts";

/**
 * Repeats an exchange that found no connection, if its request waits for ready. `attempts` makes one connection attempt at a
 * time for all waiting requests until one succeeds. `byDefault` applies to requests that do not set `waitForReady`.
 */
export function waitingExchange(exchange: Exchange, attempts: ConnectionAttempts, byDefault: boolean): Exchange {
  async function exchangeWhenReady(request: HttpRequest): ReturnType<Exchange> {
    const { signal, body } = request;
    const replay = body.whole === undefined ? new ReplayBody(body) : undefined;
    const sent = replay === undefined ? request : { ...request, body: replay };
    try {
      for (;;) {
        try {
          return await exchange(sent);
        } catch (error) {
          if (!isUnprocessed(error) || signal?.aborted || replay?.replayable === false) throw error;
          noteObstacle(signal, error as RpcError);
        }
        await attempts.ready(signal, true);
      }
    } finally {
      replay?.settle();
    }
  }

  return (request) => ((request.context?.waitForReady ?? byDefault) ? exchangeWhenReady(request) : exchange(request));
}
