/**
 * Graceful shutdown of a transport: refuses new calls, waits for running calls, then closes the connections.
 */

import type { Call } from "../call/call.ts";
import { gracePeriod } from "../call/context.ts";
import { channels } from "../call/diagnostics.ts";
import { transportClosed } from "../call/error.ts";
import { startTimer, wallClock } from "../call/platform.ts";
import { CallCounts, type Shown, type TransportState } from "../http/channel-state.ts";
import type { Connections } from "../http/exchange.ts";
import type { ClosableTransport } from "./client.ts";

/**
 * Creates a transport from a call and its connections. `close` also waits for calls that have not reached a connection
 * yet, because an interceptor may delay or retry them. The result of `publish` replaces the call while calls are published or
 * counted, which pages do not do.
 */
export function closableTransport(
  call: Call,
  connections: Connections,
  publish: (call: Call, counts: CallCounts) => Call = (call) => call,
): ClosableTransport & Shown<TransportState> {
  /** The number of calls without a response. Afterwards, the connection waits for the messages of the stream. */
  let running = 0;
  let onNoneRunning: (() => void) | undefined;
  let closing: Promise<void> | undefined;
  const calls = new CallCounts();
  const created = wallClock();
  const published = publish(call, calls);

  const settled = (): void => {
    running -= 1;
    if (running === 0) onNoneRunning?.();
  };

  return {
    call(request) {
      if (closing !== undefined) return Promise.reject(transportClosed());
      running += 1;
      try {
        const response = channels.call?.hasSubscribers || calls.isOn ? published(request) : call(request);
        // By mistake, an interceptor may return a value that is not a promise. The caller of `call` reports it.
        Promise.resolve(response).then(settled, settled);
        return response;
      } catch (reason) {
        settled();
        throw reason;
      }
    },
    "~state": () => ({
      target: "",
      subchannels: [],
      ...connections.state?.(),
      calls,
      created,
      isClosed: closing !== undefined,
    }),
    async close(options = {}) {
      const graceMs = gracePeriod(options);
      closing ??= end(graceMs);
      return closing;
    },
  };

  async function end(graceMs: number): Promise<void> {
    const stopTimer = startTimer(graceMs, () => {
      connections.destroy(transportClosed());
      onNoneRunning?.();
    });
    if (running > 0) {
      await new Promise<void>((resolve) => {
        onNoneRunning = resolve;
      });
    }
    await connections.close();
    stopTimer();
  }
}
