/** Pages with a contract in TypeScript: what their bundles contain. */
import { brotliCompressSync } from "node:zlib";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { root } from "../../plugin/support/protos.ts";

/** Bundles a page with the client of the fixture. Returns its modules and its size, compressed with brotli. */
async function bundle(contents: string): Promise<{ modules: string[]; size: number }> {
  const { metafile, outputFiles } = await build({
    stdin: { contents, resolveDir: `${root}fixtures/contract/gen`, loader: "ts" },
    conditions: ["triple-source"],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    metafile: true,
    write: false,
  });
  const inputs = Object.entries(Object.values(metafile.outputs)[0]?.inputs ?? {});
  return {
    modules: inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path),
    size: brotliCompressSync(outputFiles[0]?.contents ?? new Uint8Array()).byteLength,
  };
}

const OF_SERVERS =
  /@bufbuild|dubbo\/|runtime\/src\/(?:server|gen|openapi|node|codec\/(?:binary|values)|http\/in-memory)/;

describe("the bundle of a page", () => {
  it("has one method without code of servers, protobuf, Java and streams, in 7 kB", async () => {
    const { modules, size } = await bundle(`
      import { createStub, createTransport } from "triple-es/json";
      import { Shop_stock } from "./shop_triple.ts";
      createStub(Shop_stock, createTransport({ baseUrl: "/" }))("lamp").then(console.log);`);
    expect(modules.filter((path) => OF_SERVERS.test(path) || path.includes("/grpc/"))).toEqual([]);
    expect(size).toBeLessThan(7_000);
  });

  it("has all methods and types of the fixture without code of servers, protobuf and Java, in 13 kB", async () => {
    const { modules, size } = await bundle(`
      import { createTransport } from "triple-es/json";
      import { createShopClient } from "./shop_triple.ts";
      createShopClient(createTransport({ baseUrl: "/" })).stock("lamp").then(console.log);`);
    expect(modules.filter((path) => OF_SERVERS.test(path))).toEqual([]);
    expect(modules).toContain("fixtures/contract/gen/triple-contract.ts");
    expect(size).toBeLessThan(13_000);
  });
});
