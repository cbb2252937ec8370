/** Java exceptions, which interface methods throw on clients and servers. */
import { Code, RpcError, type RpcErrorOptions } from "triple-es";

/** Longest message of the `RpcError`, in characters. `detailMessage` contains the whole text. */
const MAX_TEXT = 4096;

const JAVA_EXCEPTION_BRAND = Symbol.for("triple-es.JavaException");

/** Options of the constructor of {@link JavaException}. */
export interface JavaExceptionOptions extends Pick<RpcErrorOptions, "headers" | "trailers"> {
  /** Fields of the class in addition to the message, by name. Default: none. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
  /** The cause in Java. Default: none. */
  readonly cause?: JavaException | undefined;
  /** The stack trace in Java, one line per call, such as `com.acme.Shop.order(Shop.java:42)`. Default: empty. */
  readonly trace?: readonly string[] | undefined;
  /** The code for peers that do not support Java exceptions. Default: unknown. */
  readonly code?: Code | undefined;
}

/**
 * An exception of a Java class. A client throws it if the Java service threw an exception. If a handler throws it, a Java
 * client receives an exception of that class, provided the class exists there. In streams and in sub-protocol A exceptions
 * cannot be encoded: it is then sent like any `RpcError`, with the name of the class in the message.
 */
export class JavaException extends RpcError {
  /** Name of the class, such as `com.acme.NoSuchUserException`. */
  readonly className: string;
  /** The result of `getMessage()` in Java, which may be `null`. */
  readonly detailMessage: string | null;
  /** Fields of the class in addition to the message, by name. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The stack trace in Java, one line per call. Empty if it was not sent. */
  readonly trace: readonly string[];

  constructor(className: string, detailMessage: string | null = null, options: JavaExceptionOptions = {}) {
    const { fields = {}, trace = [], code = Code.Unknown } = options;
    super(code, detailMessage === null ? className : `${className}: ${detailMessage}`.slice(0, MAX_TEXT), options);
    this.className = className;
    this.detailMessage = detailMessage;
    this.fields = fields;
    this.trace = trace;
    Object.defineProperty(this, JAVA_EXCEPTION_BRAND, { value: true });
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === "object" && value !== null && JAVA_EXCEPTION_BRAND in value;
  }
}

/** Finds a Java exception: the error itself or one of its causes. */
export function findException(error: unknown): JavaException | undefined {
  const seen = new Set<unknown>();
  for (let one = error; one instanceof Error && !seen.has(one); one = one.cause) {
    if (one instanceof JavaException) return one;
    seen.add(one);
  }
  return undefined;
}

/** Finds the Java exception that a handler threw: the error itself, or the cause of a copy that was created to add metadata. */
export function thrownException(error: unknown): JavaException | undefined {
  if (error instanceof JavaException) return error;
  if (!(error instanceof RpcError) || !(error.cause instanceof JavaException)) return undefined;
  return error.cause.rawMessage === error.rawMessage ? error.cause : undefined;
}
