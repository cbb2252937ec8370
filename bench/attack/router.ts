/**
 * The router that is attacked: a service with schemas, with and without generated codecs, and a service without IDL.
 */
import { createRegistry } from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import {
  createJsonCodec,
  type ProtoMethod,
  protoCodec,
  type Router,
  type RouterOptions,
  type ServiceDef,
} from "triple-es";
import { createRouter } from "triple-es/node";
import { hessian2 } from "triple-es-dubbo/hessian2";
import { type InterfaceMethod, interfacePayload, type JavaType, jsonSerialization } from "triple-es-dubbo/java";
import { msgpack } from "triple-es-dubbo/msgpack";
import { rpcRequest, textOf } from "../../test/support/greeter.ts";
import { User } from "../../test/support/shop.ts";
import { CostlySchema } from "../messages/gen/costly_pb.ts";
import { CostlyServiceDef } from "../messages/gen/costly_triple.ts";
import type { Attack } from "./bodies.ts";

const TYPES: Readonly<Record<string, JavaType>> = {
  any: "java.lang.Object",
  anys: { list: "java.lang.Object" },
  text: "java.lang.String",
  bytes: "[B",
  boxed: { array: "java.lang.Byte" },
  long: "long",
  longs: { list: "long" },
  decimal: "java.math.BigDecimal",
  dates: { list: "java.util.Date" },
  chars: { array: "char" },
  words: { set: "java.lang.String" },
  counts: { map: ["int", "int"] },
  users: { list: { class: () => User } },
};

function method(name: string, type: JavaType, result: JavaType | "void"): InterfaceMethod {
  const signature = { parameters: [{ name: "value", type }], result };
  const [service, path] = ["com.acme.Costly", `/com.acme.Costly/${name}`];
  return { kind: "unary", service, name, path, payload: interfacePayload, signature };
}

type AnyServiceDef = ServiceDef<object, Record<string, (value: never) => unknown>>;

/** A service without IDL. `echoes`: the result has the type of the argument. */
function javaDef(echoes: boolean): AnyServiceDef {
  const methods = Object.entries(TYPES).map(([name, type]) => [name, method(name, type, echoes ? type : "void")]);
  return { typeName: "com.acme.Costly", methods: Object.fromEntries(methods) };
}

/** The service with schemas, and the same without generated codecs, at other paths. `echoes` is as in {@link javaDef}. */
function costlyDef(echoes: boolean): AnyServiceDef {
  const methods = CostlyServiceDef.methods as unknown as Record<"take" | "say", ProtoMethod>;
  const echo = (one: ProtoMethod): ProtoMethod => ({
    ...one,
    output: one.input,
    ...(one.codecs && { codecs: { input: one.codecs.input, output: one.codecs.input } }),
  });
  const [take, say] = echoes ? [echo(methods.take), echo(methods.say)] : [methods.take, methods.say];
  const plain = { ...take, name: "TakePlain", path: "/bench.v1.CostlyService/TakePlain", codecs: undefined };
  return { ...CostlyServiceDef, methods: { take, say, plain } } as unknown as AnyServiceDef;
}

let measure: (() => void) | undefined;

/** Sets a function that is called in each handler, while the message is in use. */
export function measureInHandlers(callback: (() => void) | undefined): void {
  measure = callback;
}

const handle = (): object => {
  measure?.();
  return {};
};
const handleJava = (): undefined => {
  measure?.();
  return undefined;
};

const registry = createRegistry(StructSchema, CostlySchema);
/** Options and services of every server that is attacked. */
export const OPTIONS: RouterOptions = {
  codecs: [protoCodec, createJsonCodec({ registry })],
  serializations: [hessian2, jsonSerialization, msgpack],
};

export function addServices<R extends Router>(router: R, echoes = false): R {
  const answer =
    (handler: () => unknown) =>
    (value: unknown): unknown => {
      const empty = handler();
      return echoes ? value : empty;
    };
  const java = answer(handleJava);
  return router
    .add(costlyDef(echoes), { take: answer(handle), say: answer(handle), plain: answer(handle) })
    .add(javaDef(echoes), Object.fromEntries(Object.keys(TYPES).map((name) => [name, java])));
}

const router = addServices(createRouter(OPTIONS));
const echo = addServices(createRouter(OPTIONS), true);

/** Sends a request, and returns how it was answered. `echoes`: handlers return what they have received. */
export async function send({ path, headers }: Attack, body: Uint8Array, echoes = false): Promise<string> {
  const version = headers["te"] === undefined ? "1.1" : "2";
  const response = await (echoes ? echo : router).exchange(rpcRequest({ path, headers, body, version }));
  const answer = await textOf(response);
  const trailers = await response.trailers;
  const status = trailers.get("grpc-status") ?? response.headers.get("grpc-status");
  if (status === undefined) return response.status === 200 ? "ok" : `${response.status} ${answer.slice(0, 120)}`;
  const message = trailers.get("grpc-message") ?? response.headers.get("grpc-message") ?? "";
  return status === "0" ? "ok" : `${status} ${message.slice(0, 120)}`;
}
