/** The modules that a page loads: those of clients only. */
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { ROOT } from "../support/documents.ts";

const PAGE = `
import { createTransport } from "triple-es/fetch";
import { createGreetServiceClient } from "./examples/gen/greet/v1/greet_triple.ts";
createGreetServiceClient(createTransport({ baseUrl: "/" })).greet({ name: "page" }).then(console.log);
`;

const SERVER = `
import { createRouter } from "triple-es";
console.log(createRouter());
`;

/** Returns the files of a bundle. */
async function filesOf(contents: string): Promise<string[]> {
  const { metafile } = await build({
    stdin: { contents, resolveDir: ROOT, loader: "ts" },
    absWorkingDir: ROOT,
    bundle: true,
    format: "esm",
    conditions: ["triple-source"],
    metafile: true,
    write: false,
    outdir: "out",
    splitting: true,
  });
  const [entry] = Object.values(metafile.outputs).filter(({ entryPoint }) => entryPoint !== undefined);
  const inputs = Object.entries(entry?.inputs ?? {}).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  return inputs.map(([file]) => file);
}

describe("the bundle of a page", () => {
  it("has the clients of HTTP RPC and gRPC-Web, no server and no parsers of bodies", async () => {
    const files = await filesOf(PAGE);
    expect(files).toContain("runtime/src/http-rpc/unary-client.ts");
    expect(files).toContain("runtime/src/grpc/web-client.ts");
    const strangers =
      /multipasta|saxes|router|grpc\/(?:server|content-type|web-server|web-text)\.|http-rpc\/(?:server|client\.|events|content|body\/)/;
    expect(files.filter((file) => strangers.test(file) && !file.startsWith("examples/"))).toEqual([]);
  });
});

describe("the bundle of a server", () => {
  it("loads the parsers of bodies when they are needed", async () => {
    const files = await filesOf(SERVER);
    expect(files).toContain("runtime/src/http-rpc/body/xml.ts");
    expect(files.filter((file) => /multipasta|saxes/.test(file))).toEqual([]);
  });
});
