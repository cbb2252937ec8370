/** Codecs and compressions whose names can never be selected are rejected when they are given. */
import {
  type Codec,
  type Compression,
  createInMemoryTransport,
  createJsonCodec,
  createRouter,
  jsonCodec,
} from "triple-es";
import { createTransport as createFetchTransport } from "triple-es/fetch";
import { createServer, createTransport, gzip } from "triple-es/node";
import { describe, expect, it } from "vitest";

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

  it("is refused for a compression if it means no compression", () => {
    const compressions = [compressionNamed("identity")];
    expect(() => createRouter({ compressions })).toThrow('compressions: the name "identity" is reserved');
    expect(() => createTransport({ baseUrl, compressions })).toThrow('compressions: the name "identity" is reserved');
  });

  it.each(["x-mine", "vnd.acme.thing+json", "json2", "!#$%&'*+.^_`|~"])("such as %j is taken", (name) => {
    expect(() => createRouter({ codecs: [codecNamed(name)], compressions: [compressionNamed(name)] })).not.toThrow();
  });
});
