/** Interface methods in the client half of sub-protocol B: arguments and results in wrapped messages. */
import { Code, type Method, RpcError } from "triple-es";
import { decodingReason, type GrpcResponse, type PayloadOptions, userMetadata } from "triple-es/internal";
import { Cost } from "../cost.ts";
import { JavaException } from "../exception.ts";
import {
  findSerialization,
  requireSerialization,
  type Serialization,
  serializationsOf,
  wireNameOf,
} from "../serialization.ts";
import { signatureOf } from "../signature.ts";
import { eachArgument, orInvalid, parameterNames, show } from "../type.ts";
import { decodeWrapper, EXCEPTION_CODE, encodeWrapper } from "./wrapper.ts";

/** RPC codes by the code of Dubbo's `RpcException`. Other codes are not specific. */
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

/** Encodes the arguments of a call, or one value of a stream, as a wrapped message. */
export function encodeRequest(method: Method, message: object, options: PayloadOptions): Uint8Array {
  const signature = signatureOf(method);
  const serialization = requireSerialization(serializationsOf(options), signature, method.path);
  const given = message as readonly unknown[];
  return orInvalid(method.path, () => {
    const cost = new Cost(options.maxMessageValues);
    const values = eachArgument(signature, (type, index) => serialization.encode(type, given[index], cost));
    return encodeWrapper({ serializeType: wireNameOf(serialization), values, types: parameterNames(signature) });
  });
}

/** Decodes the value of a response. Throws if the bytes do not contain one. */
export function decodeResponse(method: Method, bytes: Uint8Array, options: PayloadOptions): [unknown] {
  const { result } = signatureOf(method);
  const [serialization, [value]] = open(serializationsOf(options), bytes);
  if (result === "void") return [undefined];
  if (value === undefined) throw new Error("the response has no value");
  return [serialization.decode(result, value, new Cost(options.maxMessageValues))];
}

/** Returns the exception in a response; `undefined` if the response contains a value. */
export function readException(response: GrpcResponse, options: PayloadOptions): RpcError | undefined {
  const { headers, bytes } = response;
  const sent = headers.get(EXCEPTION_CODE);
  if (sent === undefined || sent === "0") return undefined;
  const code = CODES.get(sent) ?? Code.Unknown;
  const trailers = userMetadata(response.trailers);
  try {
    const [serialization, [value]] = open(serializationsOf(options), bytes);
    if (value === undefined || serialization.decodeException === undefined) throw new Error("it cannot be read");
    const exception = serialization.decodeException(value);
    const { className, detailMessage, fields, trace, cause } = exception;
    const led = cause instanceof JavaException ? cause : undefined;
    return new JavaException(className, detailMessage, { fields, trace, cause: led, code, headers, trailers });
  } catch (cause) {
    const message = `the service threw a Java exception that cannot be read: ${decodingReason(cause)}`;
    return new RpcError(code, message, { headers, trailers, cause });
  }
}

function open(all: readonly Serialization[], bytes: Uint8Array): [Serialization, readonly Uint8Array[]] {
  const { serializeType, values } = decodeWrapper(bytes);
  const serialization = findSerialization(all, serializeType);
  if (serialization === undefined) throw new Error(`serialization ${show(serializeType)} is not registered`);
  return [serialization, values];
}
