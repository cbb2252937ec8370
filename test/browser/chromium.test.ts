/**
 * The generated client in a real browser, calling a server of another origin. The browser is Debian's package `chromium`.
 */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { build } from "esbuild";
import { type Browser, chromium, type Page } from "playwright-core";
import { createServer as createRpcServer, type Server } from "triple-es/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { createCallee } from "../platforms/callee.ts";
import { type Calls, type CodecName, EXPECTED } from "../platforms/calls.ts";
import { ROOT } from "../support/documents.ts";

const EXECUTABLE = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-dev-shm-usage",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const hasChromium = existsSync(EXECUTABLE);
if (!hasChromium) console.warn(`skipped: there is no browser at ${EXECUTABLE}; apt-get install chromium brings one`);

describe.skipIf(!hasChromium)("the generated client in Chromium", () => {
  const pages = createServer();
  let browser: Browser;
  let server: Server;
  let baseUrl: string;
  /** A page whose origin the server lets call, and one whose origin it does not. */
  let friend: Page;
  let stranger: Page;

  beforeAll(async () => {
    const script = await bundlePage();
    pages.on("request", (request, response) => {
      if (request.url === "/page.js") response.setHeader("content-type", "text/javascript").end(script);
      else response.setHeader("content-type", "text/html").end('<!doctype html><script src="/page.js"></script>');
    });
    pages.listen(0, "127.0.0.1");
    await once(pages, "listening");
    const { port } = pages.address() as AddressInfo;
    server = await startRpcServer([`http://127.0.0.1:${port}`]);
    baseUrl = `http://127.0.0.1:${server.address.port}`;
    browser = await chromium.launch({ executablePath: EXECUTABLE, args: FLAGS });
    friend = await browser.newPage();
    await friend.goto(`http://127.0.0.1:${port}/`);
    stranger = await browser.newPage();
    await stranger.goto(`http://localhost:${port}/`);
  }, 60_000);

  afterAll(async () => {
    await browser?.close();
    await server?.close({ graceMs: 0 });
    pages.closeAllConnections();
    pages.close();
  });

  function startRpcServer(origins: readonly string[]): Promise<Server> {
    return createRpcServer({ cors: { origins } })
      .add(GreetServiceDef, createCallee())
      .listen({ port: 0, host: "127.0.0.1" });
  }

  /** Makes one of the calls of the page, in the page. */
  function call(name: keyof Calls, codec: CodecName, page = friend): Promise<unknown> {
    return page.evaluate(
      ([name, url, codec]): Promise<unknown> => (globalThis as unknown as { calls: Calls }).calls[name](url, codec),
      [name, baseUrl, codec] as const,
    );
  }

  describe.each<CodecName>(["json", "proto"])("in %s", (codec) => {
    it.each(Object.keys(EXPECTED) as (keyof Calls)[])("can %s a server of another origin", async (name) => {
      expect(await call(name, codec)).toEqual(EXPECTED[name]);
    });
  });

  it("may not call from an origin that the server does not know", async () => {
    const refused = await call("greet", "json", stranger).catch((error: Error) => error.message);
    expect(refused).toContain("[unavailable] cannot reach");
    expect(refused).toContain("Failed to fetch, or it does not allow pages of this origin (option cors)");
  });
});

async function bundlePage(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [`${ROOT}test/browser/page.ts`],
    bundle: true,
    minify: true,
    format: "iife",
    platform: "browser",
    conditions: ["triple-source"],
    write: false,
  });
  return outputFiles[0]?.text ?? "";
}
