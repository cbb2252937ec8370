/**
 * The one error of the runtime. Everything that fails a call becomes an `RpcError` where it enters the house.
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { anyIs, anyUnpack } from "@bufbuild/protobuf/wkt";
import type { CallRequest } from "./call.ts";
import { Code, codeFromNumber, codeName, type Status } from "./code.ts";
import { Metadata, type MetadataInit } from "./metadata.ts";

/** A typed detail of an error, as `google.protobuf.Any` has it; `anyPack` of protobuf-es makes one. */
export interface ErrorDetail {
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

export interface RpcErrorOptions {
  /** Typed details for the caller. Default: none. */
  readonly details?: readonly ErrorDetail[] | undefined;
  /** Trailers of the response that carries the error. Default: none. */
  readonly trailers?: MetadataInit | undefined;
  /** Headers of the response that carries the error. Default: none. */
  readonly headers?: MetadataInit | undefined;
  /** What led to the error. It stays inside the process. */
  readonly cause?: unknown;
  /** The protocol error code of sub-protocol A. The runtime sets it; a handler has no need to. */
  readonly status?: Status | undefined;
  /** The path of the call that failed. Clients set it; it does not travel. */
  readonly method?: string | undefined;
}

const BRAND = Symbol.for("triple-es.RpcError");

/**
 * A failed call: thrown by clients, and thrown by handlers to choose what the caller sees (spec: Errors).
 *
 * `code`, message, details and metadata travel over the wire; `cause` and the stack do not.
 */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: Code;
  /** The message without the code in front, as it travels. */
  readonly rawMessage: string;
  readonly details: readonly ErrorDetail[];
  /** Trailers of the failed call. */
  readonly trailers: Metadata;
  /** Headers of the failed call. */
  readonly headers: Metadata;
  /**
   * The protocol error code of sub-protocol A: the one that was received, or the runtime's own for what failed here, in
   * either sub-protocol, such as 30 where a client's deadline has passed.
   */
  readonly status: Status | undefined;
  /**
   * On a client, the path of the call that failed, such as `/greet.v1.GreetService/Greet`. `undefined` on an error that did not
   * come from a call.
   */
  readonly method: string | undefined;

  /** A code that gRPC does not have, as a foreign error may carry one, becomes unknown. */
  constructor(code: Code, message: string, options: RpcErrorOptions = {}) {
    const known = codeFromNumber(code) ?? Code.Unknown;
    super(`[${codeName(known)}]${message && ` ${message}`}`, options.cause === undefined ? {} : options);
    this.code = known;
    this.rawMessage = message;
    this.details = checkDetails(options.details);
    this.trailers = new Metadata(options.trailers);
    this.headers = new Metadata(options.headers);
    this.status = options.status;
    this.method = options.method;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** True for an `RpcError` of any copy of this package, so that two installed copies understand each other. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === "object" && value !== null && BRAND in value;
  }

  /**
   * Makes an `RpcError` of anything that was thrown:
   * an `RpcError` stays as it is, an `AbortError` becomes canceled, a `TimeoutError` deadline exceeded, and all else
   * `fallback` (default: unknown) with the thrown value as its cause.
   */
  static from(reason: unknown, fallback: Code = Code.Unknown): RpcError {
    if (reason instanceof RpcError) return reason;
    const name = reason instanceof Error ? reason.name : "";
    if (name === "AbortError") return new RpcError(Code.Canceled, "the call was cancelled", { cause: reason });
    if (name === "TimeoutError")
      return new RpcError(Code.DeadlineExceeded, "the deadline has passed", { cause: reason });
    return new RpcError(fallback, reasonOf(reason), { cause: reason });
  }
}

/** Checked here, where the mistake is made: a detail that is not one would break the answer it travels in. */
function checkDetails(details: readonly ErrorDetail[] = []): readonly ErrorDetail[] {
  const valid =
    Array.isArray(details) &&
    details.every((one) => typeof one?.typeUrl === "string" && one.value instanceof Uint8Array);
  if (valid) return details;
  throw new TypeError("details must be an array of what anyPack makes");
}

/** What something that was thrown says of itself. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/**
 * Adds to the error of a call where it comes from: the path of the method, and the stack of the caller. Most errors are made in a
 * callback of a socket or a timer, whose stack leads nowhere. Call it in an async function that the caller awaits: V8 then has the
 * caller's frames at hand, and a call that succeeds pays nothing for them.
 */
export function withCaller<Reason>(reason: Reason, method: string): Reason | RpcError {
  if (!(reason instanceof RpcError)) return reason;
  // Calls may fail for a reason that they share, such as that of their signal.
  if (reason.method) return new RpcError(reason.code, reason.rawMessage, { ...reason, cause: reason, method });
  Reflect.set(reason, "method", method);
  const stack = `${reason.stack}`;
  // Without the message, this function and the one that called it.
  const callers = `${new Error().stack}`.split("\n").slice(3);
  Reflect.set(reason, "stack", [stack, ...callers.filter((line) => !stack.includes(line))].join("\n"));
  return reason;
}

/** The error of a call whose signal has fired. A reason of the caller's own making counts as a cancellation. */
export function abortError(signal: AbortSignal): RpcError {
  return RpcError.from(signal.reason, Code.Canceled);
}

/** Told of an error that was not an `RpcError`, with the path of the call it happened in. What it throws is printed. */
export type ErrorHook = (error: unknown, path: string) => void;

/** Fixed text for a failure whose own words must stay inside the process. */
const HIDDEN_FAILURE = "the service failed to handle the call";

/** What the peer sees of an error that is not meant for it. */
export function hiddenError(cause: unknown): RpcError {
  return new RpcError(Code.Unknown, HIDDEN_FAILURE, { cause });
}

/**
 * The error that the peer of a call sees when a user's code has thrown. An `RpcError` travels as it is. What the abort of the
 * call's own signal has caused becomes the reason of that abort. Anything else is reported to `onError` and hidden.
 */
export function maskUnknownError(reason: unknown, call: RunningCall, onError: ErrorHook): RpcError {
  if (reason instanceof RpcError) return reason;
  const aborted = abortErrorFor(reason, call);
  if (aborted !== undefined) return aborted;
  onError(reason, call.method.path);
  return hiddenError(reason);
}

/** The part of a call that its errors are judged by. */
export type RunningCall = Pick<CallRequest, "method" | "context">;

/** The reason for which the call was aborted, if that is what the thrown value comes from. */
export function abortErrorFor(thrown: unknown, { context }: RunningCall): RpcError | undefined {
  const { signal } = context;
  return signal !== undefined && isAbortOf(signal, thrown) ? abortError(signal) : undefined;
}

/**
 * Whether a thrown value comes from a signal that has fired: it is the signal's reason, has it as a cause at any depth, or is or
 * wraps an `AbortError`, as functions of Node and of the web throw when the signal they were given fires.
 */
export function isAbortOf(signal: AbortSignal | undefined, thrown: unknown): boolean {
  if (!signal?.aborted) return false;
  const seen = new Set<unknown>();
  for (let one = thrown; !seen.has(one); one = (one as Error).cause) {
    if (one === signal.reason || (one instanceof Error && one.name === "AbortError")) return true;
    if (typeof one !== "object" || one === null) return false;
    seen.add(one);
  }
  return false;
}

/** Calls a user's hook. What it throws, at once or later, is printed, because it must not become the failure of a call. */
export function callHook(name: string, hook: () => unknown): void {
  const report = (reason: unknown): void => reportFailure(name, reason);
  try {
    const result = hook();
    if (result instanceof Promise) result.catch(report);
  } catch (reason) {
    report(reason);
  }
}

/** Prints what a user's hook has thrown. */
export function reportFailure(name: string, reason: unknown): void {
  console.error(`triple-es: ${name} failed:`, reason);
}

/** The details of an error that are messages of that type. Ones that cannot be decoded are left out. */
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
