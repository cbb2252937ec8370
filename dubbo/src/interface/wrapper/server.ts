/**
 * Interface methods in the server half of sub-protocol B: selection of the serialization and of the method among those
 * of one path, and decoding by the declared types.
 */
import { Code, Metadata, type Method, RpcError } from "triple-es";
import { type GrpcPayloadCall, type PayloadError, type PayloadOptions, userMetadata } from "triple-es/internal";
import { Cost } from "../cost.ts";
import { JavaException, thrownException } from "../exception.ts";
import {
  findSerialization,
  requireSerialization,
  type Serialization,
  serializationsOf,
  wireNameOf,
} from "../serialization.ts";
import { type Signature, signatureOf } from "../signature.ts";
import { eachArgument, nameOf, orInvalid, parameterNames, show, within } from "../type.ts";
import { decodeWrapper, EXCEPTION_CODE, encodeWrapper, type Wrapper } from "./wrapper.ts";

/** The code of Dubbo's `RpcException` for exceptions of the service itself. */
const BUSINESS_EXCEPTION = "3";

/** One call of an interface method on a server. The response has the serialization of the request, by the same name. */
export class WrappedCall implements GrpcPayloadCall {
  readonly #all: readonly Serialization[];
  readonly #maxMessageValues: number | undefined;
  readonly #methods: readonly Method[];
  method: Method;
  #serialization: Serialization | undefined;
  #serializeType: string | undefined;

  constructor(methods: readonly Method[], options: PayloadOptions) {
    this.#all = serializationsOf(options);
    this.#maxMessageValues = options.maxMessageValues;
    this.#methods = methods;
    this.method = methods[0] as Method;
  }

  /** Decodes the arguments of a request. Every error in them is the caller's: invalid_argument, or resource_exhausted. */
  decode(bytes: Uint8Array): unknown[] {
    return orInvalid(`the arguments of ${this.method.path} cannot be decoded`, () =>
      this.#decode(decodeWrapper(bytes)),
    );
  }

  #decode(wrapper: Wrapper): unknown[] {
    if (wrapper.serializeType === "") throw this.#unsupported("the message names no serialization");
    const serialization = findSerialization(this.#all, wrapper.serializeType);
    if (serialization === undefined)
      throw this.#unsupported(`serialization ${show(wrapper.serializeType)} is not supported`);
    this.#serialization = serialization;
    this.#serializeType = wrapper.serializeType;
    this.method = chooseOverload(this.#methods, wrapper.types);
    const { parameters } = this.#signature;
    if (wrapper.values.length !== parameters.length) {
      throw new Error(`${wrapper.values.length} were sent, and it takes ${parameters.length}`);
    }
    const cost = new Cost(this.#maxMessageValues);
    return eachArgument(this.#signature, (type, index) =>
      serialization.decode(type, wrapper.values[index] as Uint8Array, cost),
    );
  }

  /** Encodes an exception of Java that a handler threw as a value, as Java does. Rethrows other errors. */
  encodeError(error: unknown): PayloadError {
    const exception = thrownException(error);
    if (exception === undefined || this.#serialization?.encodeException === undefined) throw error;
    const { headers, trailers } = error as RpcError;
    const leading = new Metadata(userMetadata(headers)).set(EXCEPTION_CODE, BUSINESS_EXCEPTION);
    return { message: exception, headers: leading, trailers: userMetadata(trailers) };
  }

  encode(message: object): Uint8Array {
    const serialization = this.#serialization ?? requireSerialization(this.#all, this.#signature, this.method.path);
    const value =
      message instanceof JavaException && serialization.encodeException !== undefined
        ? serialization.encodeException(message)
        : this.#encodeResult(serialization, (message as readonly unknown[])[0]);
    const serializeType = this.#serializeType ?? wireNameOf(serialization);
    return encodeWrapper({ serializeType, values: [value], types: [nameOf(this.#signature.result)] });
  }

  /** A void result is null on the wire. */
  #encodeResult(serialization: Serialization, value: unknown): Uint8Array {
    const { result } = this.#signature;
    if (result === "void") return serialization.encode("java.lang.Object", null);
    return within("the result", () => serialization.encode(result, value, new Cost(this.#maxMessageValues)));
  }

  get #signature(): Signature {
    return signatureOf(this.method);
  }

  #unsupported(problem: string): RpcError {
    const known = this.#all.map(describeNames).join(", ");
    const supported = known === "" ? "the receiver has none (option serializations)" : `supported are: ${known}`;
    return new RpcError(Code.Unimplemented, `${problem}; ${supported}`);
  }
}

/** The names of a serialization, on the wire and in signatures. */
function describeNames(serialization: Serialization): string {
  const wireName = wireNameOf(serialization);
  return wireName === serialization.name ? wireName : `${wireName} (${serialization.name})`;
}

/** Java ignores the types of arguments for a method without overloads; among overloads they must match exactly. */
export function chooseOverload(methods: readonly Method[], types: readonly string[]): Method {
  const [first] = methods as [Method];
  if (methods.length === 1) return first;
  const found = methods.find((method) => {
    const names = parameterNames(signatureOf(method));
    return names.length === types.length && names.every((name, index) => name === types[index]);
  });
  if (found !== undefined) return found;
  throw new RpcError(Code.Unimplemented, `${first.path} has no overload with the types of these arguments`);
}
