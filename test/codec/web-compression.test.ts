/** The default compressions of a router: `CompressionStream`, on every platform that supports it. */
import { gunzipSync, gzipSync, inflateSync } from "node:zlib";
import { createRouter } from "triple-es";
import { fetchHandler } from "triple-es/fetch";
import { createRouter as createNodeRouter } from "triple-es/node";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { webCompressions } from "../../runtime/src/codec/web-compression.ts";
import { GREET, rpcRequest } from "../support/greeter.ts";
import { greeter } from "../support/server.ts";

const bytes = new TextEncoder().encode("Hello, ".repeat(2_000));
const [gzip, deflate] = webCompressions();

describe("gzip and deflate of CompressionStream", () => {
  it("are what others read and write", async () => {
    expect([gzip?.name, deflate?.name]).toEqual(["gzip", "deflate"]);
    expect(gunzipSync((await gzip?.compress(bytes)) ?? "")).toEqual(Buffer.from(bytes));
    expect(inflateSync((await deflate?.compress(bytes)) ?? "")).toEqual(Buffer.from(bytes));
    expect(await gzip?.decompress(gzipSync(bytes), bytes.length)).toEqual(bytes);
  });

  it("compress empty input to empty output", async () => {
    const none = new Uint8Array();
    expect(await gzip?.decompress((await gzip.compress(none)) ?? bytes, 0)).toEqual(none);
  });

  it("stop a bomb at the limit, and refuse data that is not theirs", async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    await expect(gzip?.decompress(bomb, 1_000_000)).rejects.toThrow(RangeError);
    await expect(gzip?.decompress(gzipSync(bytes), bytes.length - 1)).rejects.toThrow(RangeError);
    await expect(gzip?.decompress(bytes, 1e6)).rejects.not.toBeInstanceOf(RangeError);
    await expect(gzip?.decompress(gzipSync(bytes).subarray(0, 30), 1e6)).rejects.not.toBeInstanceOf(RangeError);
  });

  it("are empty if there is no CompressionStream", () => {
    vi.stubGlobal("CompressionStream", undefined);
    onTestFinished(() => void vi.unstubAllGlobals());
    expect(webCompressions()).toEqual([]);
  });
});

describe("a router without the option compressions", () => {
  const long = '[{"name":"'.concat("x".repeat(2_000), '"}]');

  it("reads compressed requests and compresses responses, as a handler of fetch too", async () => {
    const handler = fetchHandler(createRouter().add(GreetServiceDef, greeter));
    const headers = { "content-type": "application/json", "content-encoding": "gzip", "accept-encoding": "gzip" };
    const body = new Uint8Array(gzipSync(long));
    const response = await handler(new Request(`http://a.example${GREET}`, { method: "POST", headers, body }));
    expect([response.status, response.headers.get("content-encoding")]).toEqual([200, "gzip"]);
    const text = gunzipSync(new Uint8Array(await response.arrayBuffer())).toString();
    expect(JSON.parse(text)).toEqual({ greeting: `Hello, ${"x".repeat(2_000)}!` });
  });

  it("answers a bomb with 413", async () => {
    const body = gzipSync(Buffer.alloc(5_000_000));
    const router = createRouter().add(GreetServiceDef, greeter);
    const response = await router.exchange(rpcRequest({ headers: { "content-encoding": "gzip" }, body }));
    expect(response.status).toBe(413);
  });

  it("has those of zlib if it is created by triple-es/node", async () => {
    const { exchange } = createNodeRouter().add(GreetServiceDef, greeter);
    const response = await exchange(rpcRequest({ headers: { "accept-encoding": "br" }, body: long }));
    expect(response.headers.get("content-encoding")).toBe("br");
  });
});
