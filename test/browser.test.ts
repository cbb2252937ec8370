/**
 * Chromium: pages of another origin call with a client of triple-es or with a form, and pages of the server's origin with a
 * form.
 */
import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { Code, createRouter, RpcError } from "triple-es";
import { type NodeHandler, nodeHandler } from "triple-es/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { GreetServiceDef } from "../examples/gen/greet/v1/greet_triple.ts";
import { ROOT } from "./support/documents.ts";
import { greeter, startServer } from "./support/server.ts";

const run = promisify(execFile);
const CHROMIUM = ["chromium", "chromium-browser", "google-chrome"].find(
  (name) => spawnSync(name, ["--version"]).status === 0,
);
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"].concat([
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server"],
]);

/** Calls the server whose address follows `#`, and sets the result as the text of the page. */
const CLIENT = `
import { RpcError } from "triple-es";
import { createTransport } from "triple-es/fetch";
import { createGreetServiceClient } from "./examples/gen/greet/v1/greet_triple.ts";

const greeter = createGreetServiceClient(createTransport({ baseUrl: location.hash.slice(1), credentials: "include" }));
const told: string[] = [];
const options = { headers: { "x-mine-bin": Uint8Array.of(255), "x-mine": "1" }, onTrailers: (fields: object) => told.push(...[...fields].map(String)) };
try {
  told.push((await greeter.greet({ name: "browser" }, options)).greeting);
  await greeter.greet({ name: "" });
} catch (error) {
  told.push(error instanceof RpcError ? error.message : String(error));
}
document.body.textContent = told.join(" | ");
`;

const FORM = `
const form = document.createElement("form");
form.method = "post";
form.enctype = "ENCTYPE";
form.action = location.hash.slice(1) + "/greet.v1.GreetService/Greet";
form.innerHTML = '<input name="name" value="forged">';
document.body.append(form);
form.submit();
`;

/**
 * Returns the text of a page of a separate site after its script has called the server. `api` answers the requests that the
 * site does not.
 */
async function browse(
  script: string,
  baseUrl: (origin: string) => Promise<string>,
  api?: NodeHandler,
): Promise<string> {
  const page = `<!doctype html><meta charset="utf-8"><body><script type="module">${script}</script>`;
  const site = createServer((request, response) => {
    if (request.method === "POST" && api !== undefined) api(request, response);
    else response.setHeader("content-type", "text/html").end(page);
  });
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  const profile = mkdtempSync(join(tmpdir(), "triple-es-browser-"));
  onTestFinished(() => {
    site.closeAllConnections();
    site.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  });
  // A different host name, because all ports of a host are one site.
  const origin = `http://localhost:${(site.address() as AddressInfo).port}`;
  const url = `${origin}/#${await baseUrl(origin)}`;
  const args = [...FLAGS, `--user-data-dir=${profile}`, "--virtual-time-budget=5000", "--dump-dom", url];
  const { stdout } = await run(CHROMIUM as string, args, { timeout: 150_000 });
  return stdout;
}

describe.skipIf(CHROMIUM === undefined)("a page of another origin", () => {
  const withTrailer: typeof greeter.greet = ({ name }, context) => {
    const mine = context.requestHeaders.getBinary("x-mine-bin")?.[0];
    context.responseTrailers.set("x-trailing", `${mine} ${context.requestHeaders.get("x-mine")}`);
    if (name === "") throw new RpcError(Code.DataLoss, "the name is empty");
    return { greeting: `Hello, ${name}!` };
  };

  async function client(): Promise<string> {
    const stdin = { contents: CLIENT, resolveDir: ROOT, loader: "ts" as const };
    const conditions = ["triple-source"];
    const { outputFiles } = await build({
      stdin,
      bundle: true,
      format: "esm",
      conditions,
      write: false,
      outdir: "out",
    });
    return outputFiles[0]?.text ?? "";
  }

  it("calls from an origin that cors allows, and reads messages, trailers and errors", async () => {
    const dom = await browse(await client(), async (origin) => {
      const { baseUrl } = await startServer({ greet: withTrailer }, { cors: { origins: [origin], credentials: true } });
      return baseUrl;
    });
    expect(dom).toContain("x-trailing,255 1 | Hello, browser! | [data_loss] the name is empty");
  });

  it("cannot call from another origin", async () => {
    const called: string[] = [];
    const dom = await browse(await client(), async () => {
      const greet: typeof greeter.greet = ({ name }) => ({ greeting: String(called.push(name)) });
      return (await startServer({ greet }, { cors: { origins: ["https://app.example.com"] } })).baseUrl;
    });
    expect(dom).toContain("[unavailable] cannot reach");
    expect(called).toEqual([]);
  });
});

describe
  .skipIf(CHROMIUM === undefined)
  .each(["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"])("a form in %s", (type) => {
  const script = FORM.replace("ENCTYPE", type);

  it("is refused from a page of another site, without a call of the method", async () => {
    const called: string[] = [];
    const dom = await browse(script, async () => {
      const greet: typeof greeter.greet = ({ name }) => ({ greeting: String(called.push(name)) });
      return (await startServer({ greet })).baseUrl;
    });
    expect(dom).toContain("is refused from pages of other sites (sec-fetch-site: cross-site)");
    expect(called).toEqual([]);
  });

  it("is served from a page of the server's origin", async () => {
    const called: string[] = [];
    const greet: typeof greeter.greet = ({ name }) => ({ greeting: `number ${called.push(name)}` });
    const router = createRouter().add(GreetServiceDef, { ...greeter, greet });
    const dom = await browse(script, async (origin) => origin, nodeHandler(router));
    expect(dom).toContain("number 1");
    expect(called).toEqual([type === "text/plain" ? "name=forged\r\n" : "forged"]);
  });

  it("is served from a page whose origin cors allows", async () => {
    const called: string[] = [];
    const dom = await browse(script, async (origin) => {
      const greet: typeof greeter.greet = ({ name }) => ({ greeting: `number ${called.push(name)}` });
      return (await startServer({ greet }, { cors: { origins: [origin] } })).baseUrl;
    });
    expect(dom).toContain("number 1");
  });
});
