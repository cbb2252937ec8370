/**
 * Graceful shutdown of a transport: refuses new calls, waits for running calls, then closes the connections.
 */

import type { Call } from "../call/call.ts";
import { gracePeriod } from "../call/context.ts";
import { channels } from "../call/diagnostics.ts";
import { transportClosed } from "../call/error.ts";
import { startTimer } from "../call/platform.ts";
import type { Connections } from "../http/exchange.ts";
import type { ClosableTransport } from "./client.ts";

/**
 * Creates a transport from a call and its connections. `close` also waits for calls that have not reached a connection
 * yet, because an interceptor may delay or retry them. `published` replaces the call while the channel for calls has a subscriber,
 * which pages do not have.
 */
export function closableTransport(call: Call, connections: Connections, published: Call = call): ClosableTransport {
  /** The number of calls without a response. Afterwards, the connection waits for the messages of the stream. */
  let running = 0;
  let onNoneRunning: (() => void) | undefined;
  let closing: Promise<void> | undefined;

  const settled = (): void => {
    running -= 1;
    if (running === 0) onNoneRunning?.();
  };

  return {
    call(request) {
      if (closing !== undefined) return Promise.reject(transportClosed());
      running += 1;
      try {
        const response = channels.call?.hasSubscribers ? published(request) : call(request);
        // By mistake, an interceptor may return a value that is not a promise. The caller of `call` reports it.
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
        connections.destroy(transportClosed());
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
