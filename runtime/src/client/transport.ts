/**
 * Graceful shutdown of a transport: refuses new calls, waits for those that have begun, then closes the connections.
 */
import type { Call } from "../call/call.ts";
import { Code, Status } from "../call/code.ts";
import { gracePeriod } from "../call/context.ts";
import { RpcError } from "../call/error.ts";
import { startTimer } from "../call/timer.ts";
import type { Connections } from "../http/exchange.ts";
import type { ClosableTransport } from "./client.ts";

/**
 * Makes a transport of a call and of the connections below it. `close` waits for calls that have not reached a
 * connection yet: an interceptor may still wait for something, or be about to retry.
 */
export function closableTransport(call: Call, connections: Connections): ClosableTransport {
  /** Calls without a response. Once there is one, the connection waits for the messages of its stream. */
  let running = 0;
  let onNoneRunning = (): void => {};
  let closing: Promise<void> | undefined;

  const settled = (): void => {
    running -= 1;
    if (running === 0) onNoneRunning();
  };

  return {
    call(request) {
      if (closing !== undefined) return Promise.reject(closedError());
      running += 1;
      try {
        const response = call(request);
        // An interceptor that returns no promise is a mistake, which the caller of the call reports.
        Promise.resolve(response).then(settled, settled);
        return response;
      } catch (reason) {
        settled();
        throw reason;
      }
    },
    async close(options = {}) {
      const graceMs = gracePeriod(options);
      closing ??= end(graceMs);
      return closing;
    },
  };

  async function end(graceMs: number): Promise<void> {
    let stopTimer = (): void => {};
    const graceOver = new Promise<void>((resolve) => {
      stopTimer = startTimer(graceMs, () => {
        connections.destroy(closedError());
        resolve();
      });
    });
    await Promise.race([noneRunning(), graceOver]);
    await connections.close();
    stopTimer();
  }

  function noneRunning(): Promise<void> {
    if (running === 0) return Promise.resolve();
    return new Promise((resolve) => {
      onNoneRunning = resolve;
    });
  }
}

function closedError(): RpcError {
  return new RpcError(Code.Unavailable, "the transport is closed", { status: Status.ChannelInactive });
}
