/** Codecs and compressions whose names can never be selected are rejected when they are given. */
import {
  type Codec,
  type Compression,
  createInMemoryTransport,
  createJsonCodec,
  createRouter,
  jsonCodec,
  protoCodec,
} from "triple-es";
import { createTransport as createFetchTransport } from "triple-es/fetch";
import { createServer, createTransport, gzip } from "triple-es/node";
import { describe, expect, it } from "vitest";
import { routeGreeter, rpcRequest } from "../support/greeter.ts";

const codecNamed = (name: unknown): Codec => ({ ...jsonCodec, name: name as string });
const compressionNamed = (name: unknown): Compression => ({ ...gzip, name: name as string });
const baseUrl = "http://127.0.0.1:1";
const BAD_NAMES = ["JSON", "x json", " json", "json,proto", "json;q=1", "", "a/b", "ü", undefined];

describe.each(BAD_NAMES)("the name %j", (name) => {
  const message = `the name ${JSON.stringify(name)} must be a token in lower case`;

  it("is refused of a codec", () => {
    const codec = codecNamed(name);
    expect(() => createRouter({ codecs: [codec] })).toThrow(`codecs: ${message}`);
    expect(() => createServer({ codecs: [codec] })).toThrow(`codecs: ${message}`);
    expect(() => createTransport({ baseUrl, codec })).toThrow(`codec: ${message}`);
    expect(() => createFetchTransport({ baseUrl, codec })).toThrow(`codec: ${message}`);
    expect(() => createInMemoryTransport(createRouter(), { codec })).toThrow(`codec: ${message}`);
  });

  it("is refused of a compression", () => {
    const compressions = [compressionNamed(name)];
    expect(() => createRouter({ compressions })).toThrow(`compressions: ${message}`);
    expect(() => createServer({ compressions })).toThrow(`compressions: ${message}`);
    expect(() => createTransport({ baseUrl, compressions })).toThrow(`compressions: ${message}`);
  });
});

describe("a name", () => {
  it("is refused if it occurs twice", () => {
    expect(() => createRouter({ codecs: [jsonCodec, createJsonCodec()] })).toThrow(
      'codecs: the name "json" is given twice',
    );
    expect(() => createServer({ compressions: [gzip, gzip] })).toThrow('compressions: the name "gzip" is given twice');
  });

  it.each(["identity", "*"])("is refused for a compression if it means no compression or any: %s", (name) => {
    const compressions = [compressionNamed(name)];
    const message = `compressions: the name "${name}" is reserved`;
    expect(() => createRouter({ compressions })).toThrow(message);
    expect(() => createTransport({ baseUrl, compressions })).toThrow(message);
  });

  it.each(["grpc", "grpc+proto", "grpc-web", "grpc-web+x", "grpc-web-text"])(
    "is refused for a codec if content types of gRPC have it: %s",
    (name) => {
      expect(() => createRouter({ codecs: [{ ...protoCodec, name }] })).toThrow(
        `codecs: the name "${name}" is reserved`,
      );
      expect(() => createTransport({ baseUrl, codec: { ...protoCodec, name } })).toThrow(
        `codec: the name "${name}" is reserved`,
      );
    },
  );

  it.each([["before"], ["after"]])("that is an alias of proto selects its own codec, given %s proto", async (order) => {
    const own: Codec = { ...protoCodec, name: "x-protobuf", encode: () => Uint8Array.of(0x0a, 3, 0x6f, 0x77, 0x6e) };
    const codecs = order === "before" ? [own, protoCodec] : [protoCodec, own];
    const { exchange } = routeGreeter({}, { codecs });
    const greeting = async (type: string): Promise<string> => {
      const { body } = await exchange(rpcRequest({ headers: { "content-type": type }, body: new Uint8Array() }));
      return new TextDecoder().decode(await body.bytes(100));
    };
    expect(await greeting("application/x-protobuf")).toContain("own");
    expect(await greeting("application/protobuf")).toContain("Hello");
  });

  it.each(["x-mine", "vnd.acme.thing+json", "json2", "!#$%&'*+.^_`|~"])("such as %j is taken", (name) => {
    expect(() => createRouter({ codecs: [codecNamed(name)], compressions: [compressionNamed(name)] })).not.toThrow();
  });
});
