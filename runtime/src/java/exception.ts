/**
 * Exceptions of Java, which interface methods throw on either side.
 */
import { Code } from "../call/code.ts";
import { RpcError, type RpcErrorOptions } from "../call/error.ts";

/** Longest text of the `RpcError`, in characters. `detailMessage` has all of it. */
const MAX_TEXT = 4096;

const BRAND = Symbol.for("triple-es.JavaException");

export interface JavaExceptionOptions extends Pick<RpcErrorOptions, "headers" | "trailers"> {
  /** Fields of the class besides the message, by name. Default: nothing. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
  /** The cause in Java. */
  readonly cause?: JavaException | undefined;
  /** The stack trace in Java, one line per call, such as `com.acme.Shop.order(Shop.java:42)`. */
  readonly trace?: readonly string[] | undefined;
  /** The code for peers that do not understand exceptions of Java. Default: unknown. */
  readonly code?: Code | undefined;
}

/**
 * An exception of a Java class. A client throws it if the service in Java threw one. If a handler throws it, it arrives
 * in Java as an exception of that class, which the caller must know. Where exceptions cannot be encoded, in streams and
 * in sub-protocol A, it is sent like any `RpcError`, and its text names the class.
 */
export class JavaException extends RpcError {
  /** Name of the class, such as `com.acme.NoSuchUserException`. */
  readonly className: string;
  /** The result of `getMessage()` in Java, which may be `null`. */
  readonly detailMessage: string | null;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly trace: readonly string[];

  constructor(className: string, detailMessage: string | null = null, options: JavaExceptionOptions = {}) {
    const { fields = {}, trace = [], code = Code.Unknown } = options;
    super(code, detailMessage === null ? className : `${className}: ${detailMessage}`.slice(0, MAX_TEXT), options);
    this.className = className;
    this.detailMessage = detailMessage;
    this.fields = fields;
    this.trace = trace;
    Object.defineProperty(this, BRAND, { value: true });
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === "object" && value !== null && BRAND in value;
  }
}

/** The exception of Java that an error is, or has among its causes. */
export function findException(error: unknown): JavaException | undefined {
  const seen = new Set<unknown>();
  for (let one = error; one instanceof Error && !seen.has(one); one = one.cause) {
    if (one instanceof JavaException) return one;
    seen.add(one);
  }
  return undefined;
}

/** The exception that a handler threw: the error itself, or the cause of a copy that was made to add metadata. */
export function thrownException(error: unknown): JavaException | undefined {
  if (error instanceof JavaException) return error;
  if (!(error instanceof RpcError) || !(error.cause instanceof JavaException)) return undefined;
  return error.cause.rawMessage === error.rawMessage ? error.cause : undefined;
}
