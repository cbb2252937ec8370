/** Compression in sub-protocol A: bodies in both directions, unknown encodings, and decompression bombs. */
import zlib from "node:zlib";
import { jsonCodec } from "triple-es";
import { gzip, nodeCompressions, zstd } from "triple-es/node";
import { describe, expect, it } from "vitest";
import { createHttpRpcClient } from "../../runtime/src/http-rpc/client.ts";
import { type Fields, jsonOf, routeGreeter, rpcRequest, wireClient } from "../support/greeter.ts";

const options = { compressions: nodeCompressions, compressMinBytes: 10 };
const { exchange } = routeGreeter({}, options);
const json = new TextEncoder().encode('[{"name":"Ada"}]');

describe.each(nodeCompressions)("$name", (compression) => {
  it("is read", async () => {
    for (const name of [compression.name, compression.name.toUpperCase()]) {
      const body = await compression.compress(json);
      const answer = await exchange(rpcRequest({ headers: { "content-encoding": name }, body }));
      expect([answer.status, answer.headers.has("content-encoding")]).toEqual([200, false]);
      expect(await jsonOf(answer)).toEqual({ greeting: "Hello, Ada!" });
    }
  });

  it("is used if the client accepts it", async () => {
    const answer = await exchange(rpcRequest({ headers: { "accept-encoding": compression.name } }));
    expect(answer.headers.get("content-encoding")).toBe(compression.name);
    const bytes = await compression.decompress(await answer.body.bytes(1000), 1000);
    expect(new TextDecoder().decode(bytes)).toBe('{"greeting":"Hello, Ada!"}');
  });

  it("refuses a decompression bomb before it is inflated", async () => {
    const limited = routeGreeter({}, { ...options, maxMessageBytes: 1000 }).exchange;
    const body = await compression.compress(new TextEncoder().encode(`[{"name":"${"a".repeat(1_000_000)}"}]`));
    // Brotli compresses this body below the limit, the others do not. The response is the same in both cases.
    const answer = await limited(rpcRequest({ headers: { "content-encoding": compression.name }, body }));
    expect([answer.status, await jsonOf(answer)]).toEqual([
      413,
      { status: 40, message: expect.stringContaining("1000"), code: "resource_exhausted" },
    ]);
  });

  it("refuses data of another format with status 25", async () => {
    const answer = await exchange(rpcRequest({ headers: { "content-encoding": compression.name }, body: json }));
    expect([answer.status, await jsonOf(answer)]).toMatchObject([400, { status: 25 }]);
  });

  it("carries a call both ways", async () => {
    const { client, requests } = wireClient(createHttpRpcClient, exchange, {
      codec: jsonCodec,
      ...options,
      compressions: [compression],
      sendCompression: compression,
    });
    expect((await client.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    expect(requests[0]?.headers.get("content-encoding")).toBe(compression.name);
  });
});

it("zstd is supported if node:zlib has it", () => {
  expect(zstd !== undefined).toBe("zstdCompress" in zlib);
  expect(nodeCompressions.map(({ name }) => name)).toEqual(
    zstd === undefined ? ["gzip", "br", "deflate"] : ["gzip", "zstd", "br", "deflate"],
  );
});

describe("a body", () => {
  it("over the limit is refused", async () => {
    const limited = routeGreeter({}, { maxMessageBytes: json.byteLength }).exchange;
    expect((await limited(rpcRequest({ body: json }))).status).toBe(200);
    const answer = await limited(rpcRequest({ body: `${'[{"name":"Ada"}]'} ` }));
    expect([answer.status, await jsonOf(answer)]).toMatchObject([413, { status: 40 }]);
  });

  it("in an unknown encoding is unsupported media, answered with the known ones", async () => {
    for (const encoding of ["lzma", "x-gzip", "gzip, br", ""]) {
      const answer = await exchange(rpcRequest({ headers: { "content-encoding": encoding } }));
      expect([answer.status, answer.headers.get("accept-encoding")]).toEqual([
        415,
        nodeCompressions.map(({ name }) => name).join(", "),
      ]);
      expect(await jsonOf(answer)).toMatchObject({ status: 40 });
    }
  });

  it("is refused in any encoding by a server without compressions, without a list", async () => {
    const answer = await routeGreeter({}, { compressions: [] }).exchange(
      rpcRequest({ headers: { "content-encoding": "gzip" } }),
    );
    expect([answer.status, answer.headers.has("accept-encoding")]).toEqual([415, false]);
    expect(await jsonOf(answer)).toEqual({
      status: 40,
      message: 'content encoding "gzip" is not supported; supported are: none',
      code: "unimplemented",
    });
  });

  it("is accepted unchanged with the encoding identity", async () => {
    expect((await exchange(rpcRequest({ headers: { "content-encoding": "identity" } }))).status).toBe(200);
  });

  it("below the minimum is not compressed, on either side", async () => {
    const patient = { ...options, compressMinBytes: 10_000 };
    const answer = await routeGreeter({}, patient).exchange(rpcRequest({ headers: { "accept-encoding": "gzip" } }));
    expect(answer.headers.has("content-encoding")).toBe(false);
    const { client, requests } = wireClient(createHttpRpcClient, exchange, { ...patient, sendCompression: gzip });
    await client.greet({ name: "Ada" });
    expect(requests[0]?.headers.has("content-encoding")).toBe(false);
  });

  it.each<[string, Fields]>([
    ["nothing", {}],
    ["identity before all others", { "accept-encoding": "identity, gzip;q=0.5" }],
    ["only an unsupported compression", { "accept-encoding": "lzma" }],
  ])("is not compressed for a client that accepts %s", async (_accepted, headers) => {
    expect((await exchange(rpcRequest({ headers }))).headers.has("content-encoding")).toBe(false);
  });
});
