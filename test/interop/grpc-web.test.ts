/**
 * Interoperability of the server with other clients of gRPC-Web, in Chromium. The clients are packages with a separate lock
 * file. If they are not installed, the test is skipped with a message.
 */
import { existsSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { build } from "esbuild";
import type { Browser, Page } from "playwright-core";
import { Code, RpcError } from "triple-es";
import { createServer, type Server } from "triple-es/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { EXECUTABLE, launchBrowser } from "../support/chromium.ts";
import { ROOT } from "../support/documents.ts";
import { greeter } from "../support/server.ts";

const FOLDER = join(ROOT, "test/interop/grpc-web");
const isReady = existsSync(EXECUTABLE) && existsSync(join(FOLDER, "node_modules"));
if (!isReady) console.warn("skipped: clients of gRPC-Web; CONTRIBUTING.md says how to install them, and Chromium");

const CLIENTS = [
  "@connectrpc/connect-web",
  "@connectrpc/connect-web in JSON",
  "@protobuf-ts/grpcweb-transport",
  "@protobuf-ts/grpcweb-transport in text",
  "grpc-web",
  "grpc-web in text",
  "nice-grpc-web",
];

describe.skipIf(!isReady)("a page with a client of gRPC-Web", () => {
  const pages = createHttpServer();
  let browser: Browser;
  let page: Page;
  let server: Server;

  beforeAll(async () => {
    const { outputFiles } = await build({
      entryPoints: [join(FOLDER, "page.js")],
      bundle: true,
      format: "iife",
      platform: "browser",
      write: false,
      logLevel: "error",
    });
    pages.on("request", (request, response) => {
      if (request.url === "/page.js") response.setHeader("content-type", "text/javascript").end(outputFiles[0]?.text);
      else response.setHeader("content-type", "text/html").end('<!doctype html><script src="/page.js"></script>');
    });
    await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
    const origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
    server = createServer({ cors: { origins: [origin] } }).add(GreetServiceDef, {
      ...greeter,
      greet: ({ name }) => {
        if (name !== "") return { greeting: `Hello, ${name}!` };
        throw new RpcError(Code.NotFound, "no such person – né", { trailers: { "x-why": "no name" } });
      },
    });
    await server.listen({ port: 0, host: "127.0.0.1" });
    browser = await launchBrowser();
    page = await browser.newPage();
    await page.goto(origin);
  });

  afterAll(async () => {
    await browser?.close();
    await server?.close({ graceMs: 0 });
    pages.closeAllConnections();
    pages.close();
  });

  it.each(CLIENTS)(
    "makes calls and streams, and receives errors, from a server of another origin: %s",
    async (name) => {
      const judged = await page.evaluate(
        ([name, baseUrl]) => {
          const { judge } = globalThis as unknown as { judge: (name: string, baseUrl: string) => Promise<unknown> };
          return judge(name, baseUrl);
        },
        [name, `http://127.0.0.1:${server.address.port}`] as const,
      );
      expect(judged).toEqual({
        greet: "Hello, Ada!",
        stream: ["Hello, Ada!", "Hello, Bob!"],
        error: { code: 5, message: "no such person – né", why: "no name" },
      });
    },
  );
});
