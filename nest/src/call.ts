/** Calls in the shape of `@grpc/grpc-js`, which handlers of Nest get as their last argument. */
import type { EventEmitter } from "node:events";
import type { HandlerContext } from "triple-es";
import { fieldsOf, GrpcMetadata, type MetadataSource } from "./metadata.ts";

/** The members of a call. It is an event emitter, or a duplex stream of messages for `@GrpcStreamCall`. */
export interface GrpcCall {
  /** The message of a request that has one. */
  readonly request: object | undefined;
  /** The metadata of the request. */
  readonly metadata: GrpcMetadata;
  /** True if the call has ended early. The event `cancelled` tells when. */
  cancelled: boolean;
  /** Sends the leading metadata of a response. */
  sendMetadata(metadata: MetadataSource): void;
  /** Returns the address of the client. */
  getPeer(): string;
  /** Returns the time at which the call ends: `Infinity` without a deadline. */
  getDeadline(): Date | number;
  /** Returns the path of the method. */
  getPath(): string;
}

/** Adds the members of a call to an emitter or a stream. */
export function createCall<E extends EventEmitter>(emitter: E, context: HandlerContext, request?: object): E & GrpcCall {
  const call = Object.assign(emitter, {
    request,
    metadata: new GrpcMetadata(context.requestHeaders),
    cancelled: false,
    sendMetadata(metadata: MetadataSource): void {
      context.responseHeaders.appendAll(fieldsOf(metadata));
      context.sendHeaders();
    },
    getPeer: () => `${context.peer.address}:${context.peer.port}`,
    getDeadline() {
      const timeoutMs = context.timeoutMs();
      return timeoutMs === undefined ? Number.POSITIVE_INFINITY : new Date(Date.now() + timeoutMs);
    },
    getPath: () => context.method.path,
  });
  const onAbort = (): void => {
    call.cancelled = true;
    call.emit("cancelled", "cancelled");
  };
  context.signal.addEventListener("abort", onAbort, { once: true });
  return call;
}
