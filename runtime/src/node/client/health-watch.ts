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
import { createStub, type ServerStreamingMethod } from "../../client/client.ts";
import { encodeInto, writeString } from "../../codec/binary/writer.ts";
import type { WatchHealth } from "../../discovery/target-options.ts";
import type { Exchange } from "../../http/exchange.ts";
import { errorOf, outcomeOf } from "../../http/transparent-retry.ts";
import { connectionContext } from "./attempts.ts";
import { DEFAULT_MAX_BACKOFF_MS } from "./connector.ts";

/** The names of `HealthCheckResponse.ServingStatus`, by number. */
const SERVING_STATUSES = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];

/** The method, without generated code: each of its messages has one field, the service and the status. */
const WATCH: ServerStreamingMethod<{ readonly service: string }, { readonly status: number }> = {
  kind: "server_streaming",
  service: "grpc.health.v1.Health",
  name: "Watch",
  path: "/grpc.health.v1.Health/Watch",
  payload: {
    grpc: {
      encodeRequest: (_: unknown, message: { readonly service: string }) =>
        encodeInto((writer, { service }) => writeString(writer, 10, service), message, 0),
      decodeResponse: (_: unknown, bytes: Uint8Array) => ({ status: bytes[0] === 8 ? bytes[1] : 0 }),
    },
  },
};

/** Makes the function that watches endpoints. `callOf` makes calls over gRPC, `maxMs` limits the waits before others. */
export function createHealthWatch(callOf: (exchange: Exchange) => Call, maxMs?: number): WatchHealth {
  return (connections, service, { onStatus, onUnimplemented, onUnconnected }) => {
    const ended = new AbortController();
    const { signal } = ended;
    let isConnected = true;
    const call = callOf((request) =>
      connections.exchange({ ...request, isBackground: true }).catch((reason) => {
        isConnected = outcomeOf(reason) !== "notSent";
        throw errorOf(reason);
      }),
    );

    async function run(): Promise<void> {
      const backoff = new Backoff({ maxMs: maxMs ?? DEFAULT_MAX_BACKOFF_MS });
      while (!signal.aborted) {
        const start = now();
        let hadStatus = false;
        let error = new RpcError(Code.Unavailable, "the server has ended it");
        try {
          for await (const { status } of createStub(WATCH, { call })({ service }, { signal })) {
            if (signal.aborted) return;
            hadStatus = true;
            const name = SERVING_STATUSES[status] ?? status;
            const reason = `the service ${JSON.stringify(service)} has the status ${name}`;
            onStatus(name === "SERVING" ? undefined : new RpcError(Code.Unavailable, reason));
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
