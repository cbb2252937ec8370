/**
 * `RpcError`, the only error that crosses a module boundary of the runtime. Other errors are converted where they
 * enter.
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { anyIs, anyUnpack } from "@bufbuild/protobuf/wkt";
import type { CallRequest } from "./call.ts";
import { Code, codeFromNumber, codeName, type Status } from "./code.ts";
import { Metadata, type MetadataInit } from "./metadata.ts";

/** A typed detail of an error: a `google.protobuf.Any`, as `anyPack` of protobuf-es makes it. */
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
  /** The error that caused this one. It is not sent to the peer. */
  readonly cause?: unknown;
  /** The protocol error code of sub-protocol A. The runtime sets it; handlers need not. */
  readonly status?: Status | undefined;
  /** The path of the call that failed. Clients set it; it is not sent. */
  readonly method?: string | undefined;
}

const BRAND = Symbol.for("triple-es.RpcError");

/**
 * A failed call: thrown by clients, and by handlers to choose what the caller receives (spec: Errors).
 *
 * `code`, message, details, headers and trailers travel over the wire; `cause` and the stack do not.
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
   * The protocol error code of sub-protocol A: the received one, or one of the runtime for a failure on this side, in
   * either sub-protocol, such as 30 when the deadline has passed on a client.
   */
  readonly status: Status | undefined;
  /**
   * On a client, the path of the call that failed, such as `/greet.v1.GreetService/Greet`. `undefined` on an error that
   * does not come from a call.
   */
  readonly method: string | undefined;

  /** An unassigned code, which an error of another library may carry, becomes `unknown`. */
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

  /** True for an `RpcError` of any copy of this package, so that two installed copies recognize each other's errors. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === "object" && value !== null && BRAND in value;
  }

  /**
   * Converts a thrown value: an `RpcError` is returned as it is, an `AbortError` becomes `canceled`, a `TimeoutError`
   * `deadline_exceeded`, and anything else `fallback` (default: `unknown`) with the thrown value as its cause.
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

/**
 * Validates details in the constructor, where the mistake is made: invalid ones would break the response that carries
 * them.
 */
function checkDetails(details: readonly ErrorDetail[] = []): readonly ErrorDetail[] {
  const valid =
    Array.isArray(details) &&
    details.every((one) => typeof one?.typeUrl === "string" && one.value instanceof Uint8Array);
  if (valid) return details;
  throw new TypeError("details must be an array of what anyPack makes");
}

/** The message of a thrown error, or the thrown value as text. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/**
 * Adds the origin of a call to its error: the path of the method, and the stack of the caller. Most errors are made in
 * a callback of a socket or timer, whose stack leads nowhere. Call it in an async function that the caller awaits: V8
 * then has the caller's frames, and successful calls pay nothing for them.
 */
export function withCaller<Reason>(reason: Reason, method: string): Reason | RpcError {
  if (!(reason instanceof RpcError)) return reason;
  // Several calls may fail for a shared reason, such as that of their signal.
  if (reason.method) return new RpcError(reason.code, reason.rawMessage, { ...reason, cause: reason, method });
  Reflect.set(reason, "method", method);
  const stack = `${reason.stack}`;
  // Skips the message, this function and the one that called it.
  const callers = `${new Error().stack}`.split("\n").slice(3);
  Reflect.set(reason, "stack", [stack, ...callers.filter((line) => !stack.includes(line))].join("\n"));
  return reason;
}

/** The error of a call whose signal has fired. A reason that is not an `RpcError` counts as a cancellation. */
export function abortError(signal: AbortSignal): RpcError {
  return RpcError.from(signal.reason, Code.Canceled);
}

/**
 * Called with an error that was not an `RpcError`, and the path of its call. Errors that the hook throws are printed.
 */
export type ErrorHook = (error: unknown, path: string) => void;

/** Fixed text for an error that is not revealed to the peer. */
const HIDDEN_FAILURE = "the service failed to handle the call";

/** The error that the peer receives in place of one that must not be revealed. */
export function hiddenError(cause: unknown): RpcError {
  return new RpcError(Code.Unknown, HIDDEN_FAILURE, { cause });
}

/**
 * The error that the peer of a call receives when the user's code has thrown. An `RpcError` travels as it is. An error
 * caused by the abort of the call's own signal becomes the reason of that abort. Anything else is reported to `onError`
 * and hidden.
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

/** The reason why the call was aborted, if that caused the thrown value; `undefined` otherwise. */
export function abortErrorFor(thrown: unknown, { context }: RunningCall): RpcError | undefined {
  const { signal } = context;
  return signal !== undefined && isAbortOf(signal, thrown) ? abortError(signal) : undefined;
}

/**
 * Reports whether a signal that has fired caused the thrown value: the value is the signal's reason, has it as a cause
 * at any depth, or is or wraps an `AbortError`, as functions of Node and of the web throw when the signal they were
 * given fires.
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

/** Calls a user's hook. Errors that it throws, at once or later, are printed, because they must not fail the call. */
export function callHook(name: string, hook: () => unknown): void {
  const report = (reason: unknown): void => reportFailure(name, reason);
  try {
    const result = hook();
    if (result instanceof Promise) result.catch(report);
  } catch (reason) {
    report(reason);
  }
}

/** Prints an error that a user's hook has thrown. */
export function reportFailure(name: string, reason: unknown): void {
  console.error(`triple-es: ${name} failed:`, reason);
}

/** The details of an error that are messages of that type. Details that cannot be decoded are left out. */
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
