/**
 * The seam between a listener and its HTTP engines, and the responses that engines give by themselves.
 */
import type { Socket } from "node:net";
import { Status } from "../../call/code.ts";
import type { RpcError } from "../../call/error.ts";
import { Metadata } from "../../call/metadata.ts";
import { wholeBody } from "../../http/body.ts";
import type { HttpResponse } from "../../http/exchange.ts";
import { outOfMemory } from "../io/memory-budget.ts";

/** Serves the connections of a port that speak one version of HTTP. */
export interface ServerEngine {
  /** Takes over a connection. */
  accept(socket: Socket): void;
  /** Graceful shutdown: lets running exchanges finish, and starts no new ones. */
  drain(): void;
  /** Aborts running exchanges: fires their signals, and fails those that wait for more of a request. */
  abort(reason: RpcError): void;
}

/**
 * The response to a request that an engine refuses before or after any protocol has seen it, with the error body of
 * sub-protocol A. Clients of gRPC go by the HTTP status where there is no `grpc-status`.
 */
export function errorResponse(httpStatus: number, status: Status, message: string): HttpResponse {
  return {
    status: httpStatus,
    headers: new Metadata({ "content-type": "application/json" }).freeze(),
    body: wholeBody(Buffer.from(JSON.stringify({ status, message }))),
    trailers: new Metadata().freeze(),
  };
}

/** Replaces a response that does not fit into the memory budget. gRPC maps 503 to unavailable. */
export const OUT_OF_MEMORY: HttpResponse = errorResponse(503, Status.ServiceError, outOfMemory().rawMessage);
