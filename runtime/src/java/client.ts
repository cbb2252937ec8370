/**
 * Clients of services without IDL: functions with arguments by position, whose messages are arrays of values.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import type { Method, ServiceDef } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { RpcError, reasonOf } from "../call/error.ts";
import { type CallDefaults, type CallOptions, createClient, type Transport } from "../client/client.ts";
import { type Codec, decodeJsonText, encodeJson, type SignedMessage } from "../codec/codec.ts";
import { nameOnly } from "../codec/plain-json.ts";
import { argumentsToJson } from "./arguments.ts";
import { fromJson } from "./json.ts";
import { parseExactJson } from "./json-text.ts";
import { toMessages, toValues } from "./positional.ts";
import type { Signature } from "./signature.ts";
import { pathSuffix } from "./type.ts";

/** A method without IDL, as generated code declares it. */
export interface InterfaceMethod extends Method {
  readonly signature: Signature;
}

/** Stands for the schema of the messages of methods without IDL, which are arrays of values. */
export const javaMessage: SignedMessage = /*@__PURE__*/ nameOnly(
  { typeName: "java.lang.Object", codecOf: argumentsCodec, pathOf: ({ path }: Method) => path },
  "a method without IDL has no schema: what encodes it goes by its signature",
);

/** The same of a method that shares its path with others: Dubbo for Java wants to be told which one in sub-protocol A. */
const overloadMessage: SignedMessage = /*@__PURE__*/ Object.assign(Object.create(javaMessage), {
  pathOf: ({ path, signature }: Method) => path + pathSuffix(signature as Signature),
});

/** What sub-protocol A says in JSON: an array of the arguments, or an only one bare, and the bare result. */
function argumentsCodec({ path, signature }: Method, jsonBody: "array" | "object"): Codec {
  const { result } = signature as Signature;
  return {
    name: "json",
    encode(_type, values) {
      try {
        const sent = argumentsToJson(signature as Signature, values as unknown[]);
        return encodeJson(jsonBody === "object" && sent.length === 1 ? (sent[0] as JsonValue) : sent);
      } catch (cause) {
        throw new RpcError(Code.InvalidArgument, `${path}: ${reasonOf(cause)}`, { cause });
      }
    },
    decode: (_type, bytes) => [result === "void" ? undefined : fromJson(result, parseExactJson(decodeJsonText(bytes)))],
  };
}

/** Makes a client with a function for every method: the arguments by position, then the options of the call. */
export function createInterfaceClient<C extends object>(
  service: ServiceDef<C, object>,
  transport: Transport,
  defaults: CallDefaults = {},
): C {
  const methods = Object.fromEntries(
    Object.entries(service.methods).map(([name, method]) => [name, tellOverload(method, service)]),
  );
  const stubs = createClient<object>({ ...service, methods }, transport, defaults) as Record<string, Stub>;
  const client: Record<string, unknown> = Object.create(null);
  for (const [name, method] of Object.entries(service.methods)) {
    if (method.signature === undefined) throw new TypeError(`${method.path} has no signature: createClient is for it`);
    client[name] = positional(method as InterfaceMethod, stubs[name] as Stub);
  }
  return client as C;
}

function tellOverload(method: Method, { methods }: ServiceDef<object, object>): Method {
  const alone = Object.values(methods).filter(({ path }) => path === method.path).length === 1;
  return alone ? method : { ...method, input: overloadMessage };
}

type Stub = (message: unknown, options: CallOptions | undefined) => unknown;

function positional({ kind, signature }: InterfaceMethod, stub: Stub): (...given: unknown[]) => unknown {
  const length = signature.parameters.length;
  const optionsOf = (given: readonly unknown[]): CallOptions | undefined => given[length] as CallOptions | undefined;
  const argumentsOf = (given: readonly unknown[]): unknown[] => Array.from({ length }, (_, index) => given[index]);
  switch (kind) {
    case "unary":
      return async (...given) => {
        const [value] = (await stub(argumentsOf(given), optionsOf(given))) as unknown[];
        return value;
      };
    case "server_streaming":
      return (...given) => toValues(stub(argumentsOf(given), optionsOf(given)) as AsyncIterable<object>);
    case "client_streaming":
      return async (values, options) => {
        const [value] = (await stub(toMessages(values as AsyncIterable<unknown>), options as CallOptions)) as unknown[];
        return value;
      };
    case "bidi_streaming":
      return (values, options) =>
        toValues(stub(toMessages(values as AsyncIterable<unknown>), options as CallOptions) as AsyncIterable<object>);
  }
}
