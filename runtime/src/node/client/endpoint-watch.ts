/**
 * Watches of endpoints: calls of server streams on their connections, for health (gRFC A17) and load reports (gRFC A51). An
 * endpoint is healthy while its last status is SERVING.
 *
 *     end of the call  repeated, at once if it has lasted for a second; the last status stays, as after a reset
 *     failed call      not healthy, if the server has sent the error or no message; repeated with backoff
 *     unimplemented    healthy, without checks; no reports
 *     no connection    the watch ends: connections without other calls are closed when they are idle
 */
import { Backoff } from "../../call/backoff.ts";
import type { Call } from "../../call/call.ts";
import { Code } from "../../call/code.ts";
import { RpcError } from "../../call/error.ts";
import { now, repeat } from "../../call/platform.ts";
import { delayInBackground } from "../../call/timer.ts";
import { takeTurn } from "../../call/turn.ts";
import { createStub, type ServerStreamingMethod } from "../../client/client.ts";
import type { MessageWriter } from "../../codec/binary/slab.ts";
import { beginField, encodeInto, endField, writeInt32, writeInt64, writeString } from "../../codec/binary/writer.ts";
import { DEFAULT_MAX_BACKOFF_MS } from "../../connection/attempts.ts";
import { SPARSE_PING_MS } from "../../connection/pooled-connection.ts";
import type { EndpointConnections } from "../../discovery/endpoint.ts";
import type { Watches, WatchOwner } from "../../discovery/target-options.ts";
import type { Exchange, HttpRequest } from "../../http/exchange.ts";
import { errorOf, outcomeOf } from "../../http/transparent-retry.ts";
import { inConnectionContext } from "./socket.ts";

/** A method without generated code, whose response has the bytes of its message. */
type Method<Request> = ServerStreamingMethod<Request, { readonly bytes: Uint8Array }>;

/** The names of `HealthCheckResponse.ServingStatus`, by number. */
const SERVING_STATUSES = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];

/** The size of messages that take as long as a status, after which the picker may be made anew. */
const COST_BYTES = 16_384;
const HEALTH = methodOf<{ readonly service: string }>("grpc.health.v1.Health", "Watch", (writer, { service }) =>
  writeString(writer, 10, service),
);

/** The request has the interval as a `google.protobuf.Duration`. */
const LOAD = methodOf<{ readonly reportMs: number }>(
  "xds.service.orca.v3.OpenRcaService",
  "StreamCoreMetrics",
  (writer, { reportMs }) => {
    const start = beginField(writer, 10);
    writeInt64(writer, 8, Math.floor(reportMs / 1_000));
    writeInt32(writer, 16, Math.floor((reportMs % 1_000) * 1_000_000));
    endField(writer, start);
  },
);

function methodOf<Request>(
  service: string,
  name: string,
  encode: (writer: MessageWriter, request: Request) => void,
): Method<Request> {
  return {
    kind: "server_streaming",
    service,
    name,
    path: `/${service}/${name}`,
    payload: {
      grpc: {
        encodeRequest: (_: unknown, message: Request) => encodeInto(encode, message, 0),
        decodeResponse: (_: unknown, bytes: Uint8Array) => ({ bytes }),
      },
    },
  };
}

/** Makes the functions that watch endpoints. `callOf` makes calls over gRPC, `maxMs` limits the waits before others. */
export function createWatches(callOf: (exchange: Exchange) => Call, maxMs: number = DEFAULT_MAX_BACKOFF_MS): Watches {
  function watch<Request extends object>(
    connections: EndpointConnections,
    method: Method<Request>,
    message: Request,
    { onUnimplemented, onUnconnected }: WatchOwner,
    onMessage: (bytes: Uint8Array) => unknown,
    onFailed: (error: RpcError) => void = () => {},
  ): () => void {
    const ended = new AbortController();
    const { signal } = ended;
    let isConnected = true;
    let stopChecks = (): void => {};
    const onFailure = (_: HttpRequest, reason: unknown): Promise<never> => {
      isConnected = outcomeOf(reason) !== "notSent";
      return Promise.reject(errorOf(reason));
    };
    const call = callOf((request) => connections.observed({ onFailure })({ ...request, isBackground: true }));

    async function run(): Promise<void> {
      const backoff = new Backoff({ maxMs });
      while (!signal.aborted) {
        const start = now();
        let hadMessage = false;
        let error: RpcError | undefined;
        try {
          for await (const { bytes } of createStub(method, { call })(message, { signal })) {
            stopChecks();
            if (signal.aborted) return;
            hadMessage = true;
            if (onMessage(bytes) === false) stopChecks = repeat(SPARSE_PING_MS, () => connections.check());
            // Flow control stops a server that sends without pause.
            await takeTurn(COST_BYTES);
          }
        } catch (reason) {
          error = RpcError.from(reason);
        }
        stopChecks();
        if (signal.aborted) return;
        if (!isConnected) return onUnconnected();
        if (error?.code === Code.Unimplemented) return onUnimplemented();
        if (hadMessage) backoff.reset();
        // Errors of this side, such as a lost connection, have a status.
        if (!hadMessage || (error !== undefined && error.status === undefined))
          onFailed(error ?? new RpcError(Code.Unavailable, "the server has ended it"));
        await delayInBackground(Math.max(0, start + backoff.next() - now()), signal);
      }
    }

    inConnectionContext(() => void run());
    return () => ended.abort();
  }

  return {
    health(connections, service, owner) {
      const onStatus = (bytes: Uint8Array): boolean => {
        const status = bytes[0] === 8 ? (bytes[1] as number) : 0;
        const name = SERVING_STATUSES[status] ?? status;
        const reason = `the service ${JSON.stringify(service)} has the status ${name}`;
        owner.onStatus(name === "SERVING" ? undefined : new RpcError(Code.Unavailable, reason));
        return name === "SERVING";
      };
      const onFailed = (error: RpcError): void =>
        owner.onStatus(new RpcError(Code.Unavailable, `health check failed: ${error.rawMessage}`, { cause: error }));
      return watch(connections, HEALTH, { service }, owner, onStatus, onFailed);
    },
    load: (connections, reportMs, owner) =>
      watch(connections, LOAD, { reportMs }, owner, (report) => owner.onReport(report)),
  };
}
