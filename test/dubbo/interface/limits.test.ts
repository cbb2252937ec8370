/** The limit on the values of a message in each format of services without IDL: that many are read, one more is refused. */
import { Code } from "triple-es";
import { hessian2 } from "triple-es-dubbo/hessian2";
import { type InterfaceMethod, interfacePayload, type JavaType, jsonSerialization } from "triple-es-dubbo/java";
import { msgpack } from "triple-es-dubbo/msgpack";
import { describe, expect, it } from "vitest";
import { Cost } from "../../../dubbo/src/interface/cost.ts";
import { PositionalCall } from "../../../dubbo/src/interface/http-rpc/server.ts";
import { encodeRequest } from "../../../dubbo/src/interface/wrapper/client.ts";
import { WrappedCall } from "../../../dubbo/src/interface/wrapper/server.ts";
import { decodeWrapper } from "../../../dubbo/src/interface/wrapper/wrapper.ts";

const LISTS: JavaType = { list: { list: "int" } };
const MAP: JavaType = { map: ["java.lang.String", "boolean"] };
const lists = (count: number): number[][] => Array.from({ length: count }, () => []);
const map = (count: number): Map<string, boolean> => new Map(Array.from({ length: count }, (_, i) => [`k${i}`, true]));
const EXHAUSTED = (limit: number) => ({
  code: Code.ResourceExhausted,
  message: expect.stringContaining(
    `there are at least ${limit + 1} values, more than the limit of ${limit} (option maxMessageValues)`,
  ),
});

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (reason) {
    return reason;
  }
  throw new Error("nothing was thrown");
}

const method = (type: JavaType, serialization: string): InterfaceMethod => ({
  kind: "unary",
  service: "com.acme.Echo",
  name: "echo",
  path: "/com.acme.Echo/echo",
  payload: interfacePayload,
  signature: { parameters: [{ name: "value", type }], result: type, serialization },
});

describe.each([hessian2, jsonSerialization, msgpack])("$name", (serialization) => {
  const read = (type: JavaType, value: unknown, limit?: number): unknown =>
    serialization.decode(type, serialization.encode(type, value, new Cost(1_000_000)), new Cost(limit));

  it("has a default limit", () => {
    // JSON counts the comma between two lists too.
    const most = serialization === jsonSerialization ? 52_428 : 65_535;
    expect(read(LISTS, lists(most))).toHaveLength(most);
    expect(thrownBy(() => read(LISTS, lists(most + 1)))).toMatchObject(EXHAUSTED(65_536));
  });

  it("counts an entry of a map with its key and value as one and a half", () => {
    expect(read(MAP, map(60), 91)).toHaveProperty("size", 60);
    expect(thrownBy(() => read(MAP, map(61), 91))).toMatchObject({ code: Code.ResourceExhausted });
  });

  it("has the limit of a server for requests and responses", () => {
    const options = { serializations: [serialization], maxMessageValues: 10 };
    const echo = method(LISTS, serialization.name);
    const request = (count: number): Uint8Array =>
      encodeRequest(echo, [lists(count)], { ...options, maxMessageValues: 1_000 });
    expect(new WrappedCall([echo], options).decode(request(7))).toEqual([lists(7)]);
    expect(thrownBy(() => new WrappedCall([echo], options).decode(request(10)))).toMatchObject(EXHAUSTED(10));
    expect(decodeWrapper(new WrappedCall([echo], options).encode([lists(9)])).values).toHaveLength(1);
    expect(thrownBy(() => new WrappedCall([echo], options).encode([lists(10)]))).toMatchObject(EXHAUSTED(10));
    expect(thrownBy(() => encodeRequest(echo, [lists(10)], options))).toMatchObject(EXHAUSTED(10));
  });
});

it("has the limit of a server over HTTP RPC too", () => {
  const call = new PositionalCall([method(LISTS, "json")], { maxMessageValues: 10 });
  expect(call.encode([lists(9)])).toHaveLength(28);
  expect(thrownBy(() => call.encode([lists(10)]))).toMatchObject(EXHAUSTED(10));
});
