/**
 * The values of methods without IDL as wrapped messages: which serialization carries them, what they are declared as, and
 * which of several methods of one path a request means.
 */
import type { CallResponse, Handler, Method, UnaryRequest } from "../../call/call.ts";
import { Code } from "../../call/code.ts";
import { RpcError, reasonOf } from "../../call/error.ts";
import { Metadata } from "../../call/metadata.ts";
import { userMetadata } from "../../grpc/status.ts";
import { Cost } from "../cost.ts";
import { JavaException, thrownException } from "../exception.ts";
import { findSerialization, type Serialization, wireNameOf } from "../serialization.ts";
import type { Signature } from "../signature.ts";
import { nameOf, parameterNames, show, within } from "../type.ts";
import { decodeWrapper, encodeWrapper, type Wrapper } from "./wrapper.ts";

const DEFAULT_SERIALIZATION = "hessian2";
/** In the headers of a response whose value is an exception: one of the codes of Dubbo's `RpcException`. */
const EXCEPTION_CODE = "tri-exception-code";
/** The code of what a service throws itself. */
const BUSINESS_EXCEPTION = "3";
/** The other codes that say more than that something went wrong. */
const CODES: ReadonlyMap<string, Code> = new Map([
  ["1", Code.Unavailable],
  ["2", Code.DeadlineExceeded],
  ["4", Code.PermissionDenied],
  ["7", Code.ResourceExhausted],
  ["8", Code.DeadlineExceeded],
  ["11", Code.Unimplemented],
  ["12", Code.InvalidArgument],
  ["13", Code.Unauthenticated],
]);

/** A method with its signature, as wrapper mode is only entered by. */
export type Signed = Method & { readonly signature: Signature };

export function isSigned(method: Method): method is Signed {
  return method.signature !== undefined;
}

/** Wraps the arguments of a call, or on a stream one value. */
export function encodeRequest(all: readonly Serialization[], { path, signature }: Signed, message: object): Uint8Array {
  const serialization = requireSerialization(all, signature, path);
  const given = message as readonly unknown[];
  try {
    const cost = new Cost();
    const values = signature.parameters.map(({ name, type }, index) =>
      within(`argument "${name}"`, () => serialization.encode(type, given[index], cost)),
    );
    return encodeWrapper({ serializeType: wireNameOf(serialization), values, types: parameterNames(signature) });
  } catch (cause) {
    throw new RpcError(Code.InvalidArgument, `${path}: ${reasonOf(cause)}`, { cause });
  }
}

/** Takes the value out of a response. Throws for bytes that hold none. */
export function decodeResponse(all: readonly Serialization[], { signature }: Signed, bytes: Uint8Array): [unknown] {
  const [serialization, [value]] = open(all, bytes);
  if (signature.result === "void") return [undefined];
  if (value === undefined) throw new Error("the response has no value");
  return [serialization.decode(signature.result, value)];
}

/** The exception that a response holds instead of a value; `undefined` if it holds none. */
export function readException(
  all: readonly Serialization[],
  headers: Metadata,
  trailers: Metadata,
  bytes: Uint8Array,
): RpcError | undefined {
  const sent = headers.get(EXCEPTION_CODE);
  if (sent === undefined || sent === "0") return undefined;
  const code = CODES.get(sent) ?? Code.Unknown;
  const metadata = userMetadata(trailers);
  try {
    const [serialization, [value]] = open(all, bytes);
    if (value === undefined || serialization.decodeException === undefined) throw new Error("it cannot be read");
    const exception = serialization.decodeException(value);
    const { className, detailMessage, fields, trace, cause } = exception;
    const led = cause instanceof JavaException ? cause : undefined;
    return new JavaException(className, detailMessage, {
      fields,
      trace,
      cause: led,
      code,
      headers,
      trailers: metadata,
    });
  } catch (cause) {
    const message = `the service threw an exception of Java that cannot be read: ${reasonOf(cause)}`;
    return new RpcError(code, message, { headers, trailers: metadata, cause });
  }
}

function open(all: readonly Serialization[], bytes: Uint8Array): [Serialization, readonly Uint8Array[]] {
  const { serializeType, values } = decodeWrapper(bytes);
  const serialization = findSerialization(all, serializeType);
  if (serialization === undefined) throw new Error(`serialization ${show(serializeType)} is not registered`);
  return [serialization, values];
}

/** One call of a method without IDL on a server: it answers in the serialization, and by the name, of the request. */
export class WrappedCall {
  readonly #all: readonly Serialization[];
  #handler: Handler;
  #serialization: Serialization | undefined;
  #serializeType: string | undefined;

  constructor(all: readonly Serialization[], handler: Handler) {
    this.#all = all;
    this.#handler = handler;
  }

  /** The method that is called. Of several of a path it is known when the request has been decoded. */
  get handler(): Handler {
    return this.#handler;
  }

  /** Takes the arguments out of a request. Everything that is wrong with them is the caller's mistake. */
  decode(bytes: Uint8Array): unknown[] {
    try {
      return this.#decode(decodeWrapper(bytes));
    } catch (cause) {
      if (cause instanceof RpcError) throw cause;
      const message = `the arguments of ${this.#handler.method.path} cannot be decoded: ${reasonOf(cause)}`;
      throw new RpcError(Code.InvalidArgument, message, { cause });
    }
  }

  #decode(wrapper: Wrapper): unknown[] {
    if (wrapper.serializeType === "") throw new Error("the message names no serialization");
    const serialization = findSerialization(this.#all, wrapper.serializeType);
    if (serialization === undefined) throw this.#unsupported(wrapper.serializeType);
    this.#serialization = serialization;
    this.#serializeType = wrapper.serializeType;
    this.#handler = chooseOverload(this.#handler, wrapper.types);
    const { parameters } = this.#signature;
    if (wrapper.values.length !== parameters.length) {
      throw new Error(`${wrapper.values.length} were sent, and it takes ${parameters.length}`);
    }
    const cost = new Cost();
    return parameters.map(({ name, type }, index) =>
      within(`argument "${name}"`, () => serialization.decode(type, wrapper.values[index] as Uint8Array, cost)),
    );
  }

  /** Makes the call. An exception of Java that it ends with is a value, as Java sends it. */
  async call(request: UnaryRequest): Promise<CallResponse> {
    try {
      return await this.#handler.call(request);
    } catch (reason) {
      const exception = thrownException(reason);
      if (exception === undefined || this.#serialization?.encodeException === undefined) throw reason;
      const { headers, trailers: metadata } = reason as RpcError;
      const leading = new Metadata(userMetadata(headers)).set(EXCEPTION_CODE, BUSINESS_EXCEPTION);
      return { stream: false, message: exception, headers: leading, trailers: userMetadata(metadata) };
    }
  }

  encode(message: object): Uint8Array {
    const signature = this.#signature;
    const serialization = this.#serialization ?? requireSerialization(this.#all, signature, this.#handler.method.path);
    const value =
      message instanceof JavaException && serialization.encodeException !== undefined
        ? serialization.encodeException(message)
        : encodeResult(serialization, signature, (message as readonly unknown[])[0]);
    const serializeType = this.#serializeType ?? wireNameOf(serialization);
    return encodeWrapper({ serializeType, values: [value], types: [nameOf(signature.result)] });
  }

  get #signature(): Signature {
    return (this.#handler.method as Signed).signature;
  }

  #unsupported(name: string): RpcError {
    const known = this.#all.map(namesOf).join(", ") || "none";
    return new RpcError(Code.Unimplemented, `serialization ${show(name)} is not supported; supported are: ${known}`);
  }
}

/** What a serialization is called, on the wire and where it is registered. */
function namesOf(serialization: Serialization): string {
  const wireName = wireNameOf(serialization);
  return wireName === serialization.name ? wireName : `${wireName} (${serialization.name})`;
}

/** Where a method has its name alone, Java does not look at the types; among several they have to be the same. */
function chooseOverload(handler: Handler, types: readonly string[]): Handler {
  const { overloads = [] } = handler;
  if (overloads.length === 0) return handler;
  const found = [handler, ...overloads].find(({ method }) => {
    const names = parameterNames((method as Signed).signature);
    return names.length === types.length && names.every((name, index) => name === types[index]);
  });
  if (found !== undefined) return found;
  throw new RpcError(Code.Unimplemented, `${handler.method.path} has no overload with the types of these arguments`);
}

function requireSerialization(all: readonly Serialization[], signature: Signature, path: string): Serialization {
  const name = signature.serialization ?? DEFAULT_SERIALIZATION;
  const found = findSerialization(all, name);
  if (found !== undefined) return found;
  throw new RpcError(
    Code.Internal,
    `${path} needs the serialization "${name}": register it with serializations: [${name}]`,
  );
}

/** Nothing is null on the wire. */
function encodeResult(serialization: Serialization, { result }: Signature, value: unknown): Uint8Array {
  if (result === "void") return serialization.encode("java.lang.Object", null);
  return within("the result", () => serialization.encode(result, value));
}
