/**
 * Waiting for a server that cannot be connected to (gRPC's wait for ready), for an engine that connects for each request.
 */
import { isUnprocessed } from "../../call/attempt.ts";
import { noteObstacle } from "../../call/context.ts";
import type { RpcError } from "../../call/error.ts";
import type { Exchange, HttpRequest } from "../../http/exchange.ts";
import { ReplayBody } from "../../http/replay.ts";
import type { ConnectionAttempts } from "./attempts.ts";

/**
 * An exchange that is made again when it found no connection and is to wait for one. The attempts find out, one at a time
 * for all that wait, when that is. `byDefault` applies to requests that do not say whether they wait.
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

  return (request) => ((request.waitForReady ?? byDefault) ? exchangeWhenReady(request) : exchange(request));
}
