/**
 * Bundle sizes of pages: clients of the same service, bundled and compressed in the same run.
 */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build } from "esbuild";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const CALL = '.greet({ name: "page" }).then(console.log);';
/** A program for each page, with code generated for pages: without codecs, and without protobuf for the first two. */
const PAGES = {
  "triple-es/json": (generated: string) => `
    import { createStub, createTransport } from "triple-es/json";
    import { GreetService_greet } from "${generated}/greet/v1/greet_triple.ts";
    createStub(GreetService_greet, createTransport({ baseUrl: "/" }))({ name: "page" }).then(console.log);`,
  "triple-es/json with streams": (generated: string) => `
    import { createTransport } from "triple-es/json";
    import { createGreetServiceClient } from "${generated}/greet/v1/greet_triple.ts";
    createGreetServiceClient(createTransport({ baseUrl: "/" }))${CALL}`,
  "triple-es/proto": (generated: string) => `
    import { createTransport } from "triple-es/proto";
    import { createGreetServiceClient } from "${generated}/pb/greet/v1/greet_triple.ts";
    createGreetServiceClient(createTransport({ baseUrl: "/" }))${CALL}`,
  "triple-es/fetch": (generated: string) => `
    import { createTransport } from "triple-es/fetch";
    import { createGreetServiceClient } from "${generated}/pb/greet/v1/greet_triple.ts";
    createGreetServiceClient(createTransport({ baseUrl: "/" }))${CALL}`,
  "triple-es/fetch by a WebSocket": (generated: string) => `
    import { createWebSocketTransport } from "triple-es/fetch";
    import { createGreetServiceClient } from "${generated}/pb/greet/v1/greet_triple.ts";
    createGreetServiceClient(createWebSocketTransport({ baseUrl: "/" }))${CALL}`,
  "@connectrpc/connect-web": () => `
    import { createClient } from "@connectrpc/connect";
    import { createConnectTransport } from "@connectrpc/connect-web";
    import { GreetService } from "./examples/gen/greet/v1/greet_pb.ts";
    createClient(GreetService, createConnectTransport({ baseUrl: "/", useBinaryFormat: true }))${CALL}`,
};

/** Bytes of a bundle. */
export interface Size {
  readonly minified: number;
  readonly gzip: number;
  readonly brotli: number;
}

export type Sizes = Readonly<Record<keyof typeof PAGES, Size>>;

/** Bundles every page. */
export async function measureSizes(): Promise<Sizes> {
  // The folder is below the repository's modules, so that imports are resolved. Its name decides about the order of names that
  // are used equally often, and so about a few bytes.
  const generated = join(ROOT, "node_modules/.triple-es-size");
  try {
    generateClients(generated);
    const sizes = Object.entries(PAGES).map(async ([name, page]) => [name, await sizeOf(page(generated))] as const);
    return Object.fromEntries(await Promise.all(sizes)) as unknown as Sizes;
  } finally {
    rmSync(generated, { recursive: true, force: true });
  }
}

function generateClients(out: string): void {
  const plugin = { local: ["node", "scripts/plugin.js"], strategy: "all" };
  const opt = ["target=ts", "import_extension=ts"];
  const pb = `${out}/pb`;
  const template = {
    version: "v2",
    inputs: [{ directory: "proto", paths: ["proto/greet"] }],
    plugins: [
      { ...plugin, out, opt: [...opt, "messages=json"] },
      { ...plugin, out: pb, opt: [...opt, "codecs=false"] },
      { local: ["node", "node_modules/@bufbuild/protoc-gen-es/bin/protoc-gen-es"], out: pb, opt },
    ],
  };
  const buf = join(ROOT, "node_modules/@bufbuild/buf/bin/buf");
  const { status, stderr } = spawnSync(process.execPath, [buf, "generate", "--template", JSON.stringify(template)], {
    cwd: ROOT,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`buf generate has failed: ${stderr}`);
}

async function sizeOf(contents: string): Promise<Size> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: ROOT, loader: "ts" },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    conditions: ["triple-source"],
    write: false,
  });
  const bytes = outputFiles[0]?.contents ?? new Uint8Array();
  return {
    minified: bytes.byteLength,
    gzip: gzipSync(bytes, { level: 9 }).byteLength,
    brotli: brotliCompressSync(bytes).byteLength,
  };
}
