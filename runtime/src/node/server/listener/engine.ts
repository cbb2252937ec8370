/**
 * The interface between a listener and its HTTP engines, and the responses that engines create without a protocol.
 */
import type { Socket } from "node:net";
import { Code, Status } from "../../../call/code.ts";
import { RpcError } from "../../../call/error.ts";
import { Metadata } from "../../../call/metadata.ts";
import { wholeBody } from "../../../http/body.ts";
import type { Exchange, HttpResponse } from "../../../http/exchange.ts";
import { errorBody } from "../../../protocol/error.ts";
import { type MemoryBudget, outOfMemory } from "../../io/memory-budget.ts";
import type { Limits } from "./limits.ts";

/** The parts of a server that its engines share. */
export interface ServerEngineOptions {
  readonly exchange: Exchange;
  readonly limits: Limits;
  readonly budget: MemoryBudget;
  /** Size limit of the headers that the protocols accept, in bytes. */
  readonly maxHeaderBytes: number;
  /** Fires when the server begins to close. */
  readonly draining: AbortSignal;
}

/** Serves the connections of a port that use one version of HTTP. */
export interface ServerEngine {
  /** Takes over a connection. */
  accept(socket: Socket): void;
  /** Begins graceful shutdown: running exchanges finish, and new ones are not started. */
  drain(): void;
  /** Aborts running exchanges: fires their signals, and fails readers that wait for more of a request. */
  abort(reason: RpcError): void;
}

/** Options of the asynchronous context of a request: nothing watches its end. */
export const MANUAL = { requireManualDestroy: true } as const;

/**
 * Creates the response to a request that an engine refuses before or after a protocol handles it. The body is the error body
 * of sub-protocol A. gRPC clients use the HTTP status if there is no `grpc-status`.
 */
export function errorResponse(httpStatus: number, error: RpcError): HttpResponse {
  const { status = Status.ServiceError, rawMessage, code } = error;
  const body = errorBody(status, rawMessage, code);
  return {
    status: httpStatus,
    headers: new Metadata({ "content-type": "application/json" }).freeze(),
    body: wholeBody(Buffer.from(JSON.stringify(body))),
    trailers: new Metadata().freeze(),
  };
}

/** The response that replaces one that exceeds the memory budget. gRPC maps 503 to unavailable. */
export const OUT_OF_MEMORY: HttpResponse = errorResponse(
  503,
  new RpcError(Code.Unavailable, outOfMemory().rawMessage, { status: Status.ServiceError }),
);
