/**
 * `RpcError`, the only type of error that crosses a module boundary of the runtime. Errors of the platform and of other
 * libraries are converted where they are caught.
 */
import {
  create,
  type DescMessage,
  type MessageInitShape,
  type MessageShape,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { anyIs, anyUnpack } from "@bufbuild/protobuf/wkt";
import type { CallRequest } from "./call.ts";
import { Code, codeFromNumber, codeName, Status } from "./code.ts";
import { Metadata, type MetadataInit } from "./metadata.ts";

/** A typed detail of an error: a `google.protobuf.Any`, as `anyPack` of protobuf-es creates it. */
export interface ErrorDetail {
  /** The URL of the type: `type.googleapis.com/` and the full name of the message. */
  readonly typeUrl: string;
  /** The message in protobuf's binary format. */
  readonly value: Uint8Array;
  /** The detail as JSON, for people, and for clients without its schema. Sent and received by HTTP RPC only. */
  readonly debug?: unknown;
}

/** Options of the constructor of {@link RpcError}. */
export interface RpcErrorOptions {
  /** Typed details for the caller. Default: none. */
  readonly details?: readonly ErrorDetail[] | undefined;
  /** Trailers of the response that carries the error. Default: none. */
  readonly trailers?: MetadataInit | undefined;
  /** Headers of the response that carries the error. Default: none. */
  readonly headers?: MetadataInit | undefined;
  /** The error that caused this one. It is not sent to the peer. Default: none. */
  readonly cause?: unknown;
  /** The protocol error code of HTTP RPC. The runtime sets it; handlers need not. Default: none. */
  readonly status?: Status | undefined;
}

const RPC_ERROR_BRAND = Symbol.for("triple-es.RpcError");

/**
 * The error of a failed call (spec: Errors). Clients throw it; handlers throw it to choose the error that the caller
 * receives.
 *
 * `code`, message, details, headers and trailers are sent to the peer; `cause` and the stack are not.
 *
 * The body of the class does not name it: esbuild would rename the class to `_RpcError`, which logs would show.
 */
export class RpcError extends Error {
  /** The name of the class. */
  override readonly name = "RpcError";
  /** The code of the failure. */
  readonly code: Code;
  /** The message as it is sent, without the code in front. */
  readonly rawMessage: string;
  /** Typed details, which `findDetails` decodes. */
  readonly details: readonly ErrorDetail[];
  /** Trailers of the failed call. */
  readonly trailers: Metadata;
  /** Headers of the failed call. */
  readonly headers: Metadata;
  /**
   * The protocol error code of HTTP RPC: the received code, or for a failure on this side, over gRPC too,
   * the code that the runtime sets, such as 30 if the deadline has passed on a client.
   */
  readonly status: Status | undefined;
  /**
   * On a client, the path of the call that failed, such as `/greet.v1.GreetService/Greet`. `undefined` on an error that
   * does not come from a call.
   */
  readonly method: string | undefined;
  /**
   * On a client, the server of the call that failed: the address of the endpoint, such as `10.0.0.7:50051` or the path of a
   * socket; the name of the target if no endpoint was chosen; the base URL of a transport on `fetch`. `undefined` in
   * memory, and if the call failed before it reached its connections.
   */
  readonly target: string | undefined;

  /** Creates an error. An unassigned code becomes `unknown`. Throws a `TypeError` for invalid options. */
  constructor(code: Code, message: string, options: RpcErrorOptions = {}) {
    const known = codeFromNumber(code) ?? Code.Unknown;
    super(`[${codeName(known)}]${message ? ` ${message}` : ""}`, options.cause === undefined ? {} : options);
    this.code = known;
    // Callers without a type checker may pass none.
    this.rawMessage = `${message ?? ""}`;
    this.details = checkDetails(options.details);
    this.trailers = new Metadata(options.trailers);
    this.headers = new Metadata(options.headers);
    this.status = options.status;
    Object.defineProperty(this, RPC_ERROR_BRAND, { value: true });
  }

  /** Recognizes an `RpcError` of any copy of this package: a program may have several copies installed. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === "object" && value !== null && RPC_ERROR_BRAND in value;
  }

  /**
   * Converts a thrown value to an `RpcError`. An `RpcError` is returned unchanged. An `AbortError` becomes `canceled`, a
   * `TimeoutError` becomes `deadline_exceeded`, and any other value becomes `fallback` (default: `unknown`). The thrown
   * value is the cause of the new error.
   */
  static from(reason: unknown, fallback: Code = Code.Unknown): RpcError {
    return toRpcError(reason, fallback);
  }
}

/** A function, because bundlers rename a class that refers to itself. */
function toRpcError(reason: unknown, fallback: Code): RpcError {
  try {
    if (reason instanceof RpcError) return reason;
    const name = reason instanceof Error ? reason.name : "";
    if (name === "AbortError") return new RpcError(Code.Canceled, "the call was cancelled", { cause: reason });
    if (name === "TimeoutError")
      return new RpcError(Code.DeadlineExceeded, "the deadline has passed", { cause: reason });
    return new RpcError(fallback, reasonOf(reason), { cause: reason });
  } catch {
    // An object without a prototype has no text.
    return new RpcError(fallback, "", { cause: reason });
  }
}

/** Validates details when the error is created, and not later, when the response is encoded. */
function checkDetails(details: readonly ErrorDetail[] = []): readonly ErrorDetail[] {
  const valid =
    Array.isArray(details) &&
    details.every((one) => typeof one?.typeUrl === "string" && one.value instanceof Uint8Array);
  if (valid) return details;
  throw new TypeError("details must be results of anyPack");
}

/** Returns the message of a thrown error, or another thrown value as text. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/**
 * Adds the origin of a call to its error: the path of the method, the server, and the stack of the caller. Most errors
 * are created in a callback of a socket or timer, so their stack does not contain the caller. Call this function in an
 * async function that the caller awaits: V8 then provides the caller's frames, at no cost for successful calls.
 */
export function withCaller<Reason>(reason: Reason, method: string, target?: string): Reason | RpcError {
  if (!(reason instanceof RpcError)) return reason;
  // Several calls may fail with the same error, such as the reason of a shared signal, so each call gets a copy.
  const own =
    reason.method || Object.isFrozen(reason)
      ? new RpcError(reason.code, reason.rawMessage, { ...reason, cause: reason })
      : reason;
  const stack = `${own.stack}`;
  return Object.assign(own, {
    method,
    target,
    stack: [
      stack,
      // The first three lines are the message, this function and its caller.
      ...`${new Error().stack}`
        .split("\n")
        .slice(3)
        .filter((line) => !stack.includes(line)),
    ].join("\n"),
  });
}

/** Returns the error of a call whose signal has fired: its reason, or as {@link RpcError.from} with `canceled`. */
export function abortError(signal: AbortSignal): RpcError {
  return RpcError.from(signal.reason, Code.Canceled);
}

/**
 * A hook that receives an error that is hidden from the peer, and the path of its call. Errors that the hook throws are
 * printed.
 */
export type ErrorHook = (error: unknown, path: string) => void;

/** The text that a peer receives in place of the message of a hidden error. */
const HIDDEN_FAILURE = "the service failed to handle the call";

/** Creates the error that the peer receives in place of `cause`, which must not be revealed. */
export function hiddenError(cause: unknown): RpcError {
  return new RpcError(Code.Unknown, HIDDEN_FAILURE, { cause });
}

/**
 * Returns the error that the peer receives if the user's code has thrown `reason`. An error that the abort of the call's own
 * signal caused becomes the reason of that abort, also as the cause of an `RpcError`. Any other `RpcError` is sent unchanged,
 * and any other error is reported to `onError` and hidden.
 */
export function maskUnknownError(reason: unknown, call: RunningCall, onError: ErrorHook): RpcError {
  const isChosen = reason instanceof RpcError;
  // An error that wraps that of the abort does not hide it.
  const aborted = abortErrorFor(isChosen ? reason.cause : reason, call);
  if (aborted !== undefined) return aborted;
  if (isChosen) return reason;
  onError(reason, call.method.path);
  return hiddenError(reason);
}

/** The part of a call that determines how its errors are converted. */
export type RunningCall = Pick<CallRequest, "method" | "context">;

/** Returns the reason of the call's abort, or of the server's shutdown, if it caused the thrown value. */
export function abortErrorFor(thrown: unknown, { context }: RunningCall): RpcError | undefined {
  const cause = [context.signal, context.draining].find((signal) => isAbortOf(signal, thrown));
  return cause && abortError(cause);
}

/**
 * Reports whether a signal that has fired caused the thrown value. It did if the value, or a cause of it at any depth, is the
 * signal's reason or an `AbortError`, which functions of Node and of the web platform throw when their signal fires. It
 * caused an `AggregateError` of `Promise.any` if it caused all of its errors.
 */
export function isAbortOf(signal: AbortSignal | undefined, thrown: unknown): boolean {
  if (!signal?.aborted) return false;
  const seen = new Set<unknown>();
  const isCaused = (thrown: unknown): boolean => {
    for (let one = thrown; !seen.has(one); one = (one as Error).cause) {
      if (one === signal.reason || (one instanceof Error && one.name === "AbortError")) return true;
      if (typeof one !== "object" || one === null) return false;
      seen.add(one);
      const { errors } = one as AggregateError;
      if (one instanceof AggregateError && errors.length > 0 && errors.every(isCaused)) return true;
    }
    return false;
  };
  return isCaused(thrown);
}

/** Calls a user's hook. Errors that it throws, synchronously or as a rejection, are printed: they must not fail the call. */
export function callHook(name: string, hook: () => unknown): void {
  try {
    reportRejection(name, hook());
  } catch (reason) {
    reportFailure(name, reason);
  }
}

/** Prints the error of a promise that a user's hook has returned, for which nothing waits. */
export function reportRejection(name: string, result: unknown): void {
  if (result instanceof Promise) result.catch((reason: unknown) => reportFailure(name, reason));
}

/** Prints an error that a user's hook has thrown. */
export function reportFailure(name: string, reason: unknown): void {
  console.error(`triple-es: ${name} failed:`, reason);
}

/**
 * Creates a detail of an error from a message or its init shape. Over HTTP RPC the detail is also sent as JSON, so that
 * people and clients without its schema can read it.
 *
 *     throw new RpcError(Code.InvalidArgument, "the name is empty", {
 *       details: [createDetail(BadRequestSchema, { fieldViolations: [{ field: "name", description: "is empty" }] })],
 *     });
 */
export function createDetail<Desc extends DescMessage>(schema: Desc, init: MessageInitShape<Desc>): ErrorDetail {
  const message = create(schema, init);
  const typeUrl = `type.googleapis.com/${schema.typeName}`;
  return { typeUrl, value: toBinary(schema, message), debug: toJson(schema, message) };
}

/**
 * Returns the details of a type, such as `google.rpc.BadRequest`, as plain JSON. Servers of triple-es send JSON with details
 * that `createDetail` has created, or whose types are in their option `registry`; details without JSON are left out.
 */
export function findJsonDetails({ details }: RpcError, typeName: string): unknown[] {
  return details.flatMap(({ typeUrl, debug }) => (debug && typeUrl.endsWith(`/${typeName}`) ? [debug] : []));
}

/** Returns the details of an error that are messages of the given type. Omits details that cannot be decoded. */
export function findDetails<Desc extends DescMessage>(error: RpcError, type: Desc): MessageShape<Desc>[] {
  return error.details.flatMap(({ typeUrl, value }) => {
    const any = { $typeName: "google.protobuf.Any", typeUrl, value } as const;
    try {
      const message = anyIs(any, type) ? anyUnpack(any, type) : undefined;
      return message === undefined ? [] : [message];
    } catch {
      return [];
    }
  });
}

/** The error of a call over a transport that was closed. */
export function transportClosed(): RpcError {
  return new RpcError(Code.Unavailable, "the transport is closed", { status: Status.ChannelInactive });
}

/** The error of a call to an endpoint that the resolver does not list any more. */
export function endpointRemoved(address: string): RpcError {
  return new RpcError(Code.Unavailable, `${address} is no longer an endpoint`);
}

/** Creates the error that ends a server's exchange early: engines cannot tell cancellation from a lost connection. */
export function clientGone(): RpcError {
  return new RpcError(Code.Canceled, "the client cancelled the call or disconnected");
}
