/**
 * What a page has to load: clients of the same service, bundled and compressed in the same run. The sizes are printed.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../support/documents.ts";

/** What a client that needs no protobuf may not grow beyond. */
const MAX_JSON_BYTES = 6_700;

/** Clients of plain JSON are generated with an option of their own; the folder is below the repository's modules. */
let generated: string;

const CALL = '.greet({ name: "page" }).then(console.log);';
const PAGES = {
  "triple-es, plain JSON": () => `
    import { createTransport } from "triple-es/json";
    import { createGreetServiceClient } from "${generated}/greet/v1/greet_triple.ts";
    createGreetServiceClient(createTransport({ baseUrl: "/" }))${CALL}`,
  "triple-es, protobuf": () => `
    import { createTransport } from "triple-es/proto";
    import { createGreetServiceClient } from "./examples/gen/greet/v1/greet_triple.ts";
    createGreetServiceClient(createTransport({ baseUrl: "/" }))${CALL}`,
  "triple-es, protobuf and its JSON": () => `
    import { createTransport } from "triple-es/fetch";
    import { createGreetServiceClient } from "./examples/gen/greet/v1/greet_triple.ts";
    createGreetServiceClient(createTransport({ baseUrl: "/" }))${CALL}`,
  "@connectrpc/connect-web, protobuf": () => `
    import { createClient } from "@connectrpc/connect";
    import { createConnectTransport } from "@connectrpc/connect-web";
    import { GreetService } from "./examples/gen/greet/v1/greet_pb.ts";
    createClient(GreetService, createConnectTransport({ baseUrl: "/", useBinaryFormat: true }))${CALL}`,
};

const sizes = {} as Record<keyof typeof PAGES, number>;

beforeAll(async () => {
  generated = mkdtempSync(join(ROOT, "node_modules/.triple-es-size-"));
  generatePlainClient(generated);
  console.log("bytes of a page's bundle: minified, gzip, brotli");
  for (const [name, page] of Object.entries(PAGES) as [keyof typeof PAGES, () => string][]) {
    const bytes = await bundle(page());
    const brotli = brotliCompressSync(bytes).byteLength;
    sizes[name] = brotli;
    console.log(`${name}: ${bytes.byteLength}, ${gzipSync(bytes, { level: 9 }).byteLength}, ${brotli}`);
  }
}, 60_000);

afterAll(() => {
  rmSync(generated, { recursive: true, force: true });
});

function generatePlainClient(out: string): void {
  const plugin = { local: ["node", "--import", "tsx", "src/main.ts"], out, strategy: "all" };
  const template = {
    version: "v2",
    inputs: [{ directory: "proto", paths: ["proto/greet"] }],
    plugins: [{ ...plugin, opt: ["target=ts", "import_extension=ts", "messages=json"] }],
  };
  const buf = join(ROOT, "node_modules/@bufbuild/buf/bin/buf");
  const { status, stderr } = spawnSync(process.execPath, [buf, "generate", "--template", JSON.stringify(template)], {
    cwd: ROOT,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`buf generate has failed: ${stderr}`);
}

async function bundle(contents: string): Promise<Uint8Array> {
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
  return outputFiles[0]?.contents ?? new Uint8Array();
}

describe("the bundle of a page", () => {
  it(`takes at most ${MAX_JSON_BYTES} bytes where messages are plain JSON`, () => {
    expect(sizes["triple-es, plain JSON"]).toBeLessThanOrEqual(MAX_JSON_BYTES);
  });

  it("is smaller than connect-web's where messages are protobuf", () => {
    expect(sizes["triple-es, protobuf"]).toBeLessThan(sizes["@connectrpc/connect-web, protobuf"]);
  });
});
