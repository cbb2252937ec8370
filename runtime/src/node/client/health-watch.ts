/**
 * Health that a client watches (gRFC A17): a call of `grpc.health.v1.Health/Watch` to an endpoint, which is healthy while its
 * last status is SERVING.
 *
 *     end of the call  repeated, at once if it has lasted for a second; the last status stays
 *     failed call      not healthy, if it had no status; repeated with backoff
 *     unimplemented    healthy, without checks
 *     no connection    the watch ends: connections without other calls are closed when they are idle
 */
import { Backoff } from "../../call/backoff.ts";
import type { Call } from "../../call/call.ts";
import { Code } from "../../call/code.ts";
import { RpcError } from "../../call/error.ts";
import { now } from "../../call/platform.ts";
import { delayInBackground } from "../../call/timer.ts";
import type { WatchHealth } from "../../discovery/target-options.ts";
import type { Exchange } from "../../http/exchange.ts";
import { outcomeOf } from "../../http/transparent-retry.ts";
import { connectionContext } from "./attempts.ts";
import { DEFAULT_MAX_BACKOFF_MS } from "./connector.ts";

/** The names of `HealthCheckResponse.ServingStatus`, by number. */
const SERVING_STATUSES = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];
const SERVING = 1;

/** Makes the function that watches endpoints. `callOf` makes calls over gRPC in protobuf, `maxMs` limits waits before others. */
export function createHealthWatch(callOf: (exchange: Exchange) => Call, maxMs = DEFAULT_MAX_BACKOFF_MS): WatchHealth {
  return (connections, service, { onStatus, onUnimplemented, onUnconnected }) => {
    const ended = new AbortController();
    const { signal } = ended;
    let isConnected = true;
    const call = callOf((request) =>
      connections.exchange({ ...request, isBackground: true }).catch((reason) => {
        isConnected = outcomeOf(reason) !== "notSent";
        throw reason;
      }),
    );

    async function run(): Promise<void> {
      // Only clients that watch load the service.
      const { createHealthClient } = await import("../../gen/grpc/health/v1/health_triple.ts");
      const backoff = new Backoff({ maxMs });
      while (!signal.aborted) {
        const start = now();
        let hadStatus = false;
        let error = new RpcError(Code.Unavailable, "the server has ended it");
        try {
          for await (const { status } of createHealthClient({ call }).watch({ service }, { signal })) {
            if (signal.aborted) return;
            hadStatus = true;
            const reason = `the service ${JSON.stringify(service)} has the status ${SERVING_STATUSES[status] ?? status}`;
            onStatus(status === SERVING ? undefined : new RpcError(Code.Unavailable, reason));
          }
        } catch (reason) {
          error = RpcError.from(reason);
        }
        if (signal.aborted) return;
        if (!isConnected) return onUnconnected();
        if (error.code === Code.Unimplemented) return onUnimplemented();
        if (hadStatus) backoff.reset();
        else onStatus(new RpcError(Code.Unavailable, `health check failed: ${error.rawMessage}`, { cause: error }));
        await delayInBackground(Math.max(0, start + backoff.next() - now()), signal);
      }
    }

    connectionContext.runInAsyncScope(() => void run());
    return () => ended.abort();
  };
}
