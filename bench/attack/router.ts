/**
 * The router that is attacked: a service with schemas, with and without generated codecs, and a service without IDL.
 */
import { createRegistry } from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import { createJsonCodec, protoCodec, type Router, type RouterOptions, type ServiceDef } from "triple-es";
import { hessian2 } from "triple-es/hessian2";
import { type InterfaceMethod, interfacePayload, type JavaType, jsonSerialization } from "triple-es/java";
import { msgpack } from "triple-es/msgpack";
import { createRouter } from "triple-es/node";
import { rpcRequest, textOf } from "../../test/support/greeter.ts";
import { User } from "../../test/support/shop.ts";
import { CostlySchema } from "../gen/costly_pb.ts";
import { CostlyServiceDef } from "../gen/costly_triple.ts";
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

function method(name: string, type: JavaType): InterfaceMethod {
  const signature = { parameters: [{ name: "value", type }], result: "void" as const };
  const [service, path] = ["com.acme.Costly", `/com.acme.Costly/${name}`];
  return { kind: "unary", service, name, path, payload: interfacePayload, signature };
}

const JavaDef: ServiceDef<object, Record<string, (value: never) => unknown>> = {
  typeName: "com.acme.Costly",
  methods: Object.fromEntries(Object.entries(TYPES).map(([name, type]) => [name, method(name, type)])),
};

/** The same service without generated codecs, at other paths. */
const { take, say } = CostlyServiceDef.methods as unknown as Record<"take" | "say", object>;
const plain = { ...take, name: "TakePlain", path: "/bench.v1.CostlyService/TakePlain", codecs: undefined };
const Def = { ...CostlyServiceDef, methods: { take, say, plain } } as unknown as typeof JavaDef;

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

export function addServices<R extends Router>(router: R): R {
  return router
    .add(Def, { take: handle, say: handle, plain: handle })
    .add(JavaDef, Object.fromEntries(Object.keys(TYPES).map((name) => [name, handleJava])));
}

const router = addServices(createRouter(OPTIONS));

/** Sends a request, and returns how it was answered. */
export async function send({ path, headers }: Attack, body: Uint8Array): Promise<string> {
  const version = headers["te"] === undefined ? "1.1" : "2";
  const response = await router.exchange(rpcRequest({ path, headers, body, version }));
  const answer = await textOf(response);
  const trailers = await response.trailers;
  const status = trailers.get("grpc-status") ?? response.headers.get("grpc-status");
  if (status === undefined) return response.status === 200 ? "ok" : `${response.status} ${answer.slice(0, 120)}`;
  const message = trailers.get("grpc-message") ?? response.headers.get("grpc-message") ?? "";
  return status === "0" ? "ok" : `${status} ${message.slice(0, 120)}`;
}
