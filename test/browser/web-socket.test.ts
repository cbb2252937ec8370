/** Calls by HTTP/2 in a WebSocket, from a page in Chromium. */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer as createPages } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { codeName, RpcError } from "triple-es";
import { createServer, createTransport, type Server } from "triple-es/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  createGreetServiceClient,
  GreetServiceDef,
  type GreetServiceHandler,
} from "../../examples/gen/greet/v1/greet_triple.ts";
import { sharedCertificates } from "../support/certificate.ts";
import { bundlePage, EXECUTABLE, launchBrowser } from "../support/chromium.ts";
import { failureOf, greeter, signalled } from "../support/server.ts";
import type { Tunnel } from "./web-socket-page.ts";

describe.skipIf(!existsSync(EXECUTABLE))("a page in Chromium, by a WebSocket,", () => {
  const pages = createPages();
  let browser: Browser;
  let origin: string;
  let server: Server;
  let page: Page;
  /** The call that waits, and the reason why it ended. */
  let begun = signalled();
  let ended = signalled<string>();
  /** The calls that run at the same time, and the number at which they are answered. */
  let running = 0;
  const everyone = signalled();

  const greet: GreetServiceHandler["greet"] = async ({ name }, { signal, responseTrailers }) => {
    responseTrailers.set("x-end", "true");
    if (/^\d+$/.test(name)) {
      if (++running === 1_000) everyone.resolve();
      await everyone.promise;
    }
    if (name !== "Snail") return { greeting: `Hello, ${name}!` };
    begun.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    ended.resolve(codeName(RpcError.from(signal.reason).code));
    throw signal.reason;
  };
  const startServer = (port: number): Promise<Server> =>
    createServer({ webSocket: true, cors: { origins: [origin] }, limits: { maxStreams: 1_000, maxHandlers: 1_000 } })
      .add(GreetServiceDef, { ...greeter, greet })
      .listen({ port, host: "127.0.0.1" });

  beforeAll(async () => {
    const script = await bundlePage("test/browser/web-socket-page.ts");
    pages.on("request", ({ url }, response) => {
      if (url === "/page.js") response.setHeader("content-type", "text/javascript").end(script);
      else response.setHeader("content-type", "text/html").end('<!doctype html><script src="/page.js"></script>');
    });
    pages.listen(0, "127.0.0.1");
    await once(pages, "listening");
    origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
    server = await startServer(0);
    browser = await launchBrowser();
    page = await browser.newPage();
    await page.goto(origin);
    await inPage("open", `http://127.0.0.1:${server.address.port}`);
  });

  afterAll(async () => {
    await browser?.close();
    await server?.close({ graceMs: 0 });
    pages.closeAllConnections();
    pages.close();
  });

  const inPage = <Name extends keyof Tunnel>(name: Name, ...args: Parameters<Tunnel[Name]>): Promise<unknown> =>
    page.evaluate(
      ([name, args]) => {
        const { tunnel } = globalThis as unknown as { tunnel: Record<string, (...args: unknown[]) => unknown> };
        return tunnel[name]?.(...args);
      },
      [name, args] as const,
    );

  it("makes calls of all four kinds, and reads trailers", async () => {
    expect(await inPage("callAll", "Ann", "Bob")).toEqual({
      greeting: "Hello, Ann!",
      trailer: "true",
      each: ["Hello, Ann!", "Hello, Bob!"],
      together: "Hello, Ann and Bob!",
      onArrival: ["Hello, Ann!", "Hello, Bob!"],
    });
  });

  it("makes them on the connection that the page has over HTTP/2, with TLS (RFC 8441)", async () => {
    const script = await bundlePage("test/browser/web-socket-page.ts");
    const ports = new Set<number | undefined>();
    const secure = createServer({
      webSocket: true,
      tls: sharedCertificates().server,
      fallback: {
        fetch({ url }, { peer }) {
          ports.add(peer?.port);
          const [type, text] = url.endsWith(".js")
            ? ["javascript", script]
            : ["html", '<script src="/page.js"></script>'];
          return new Response(text, { headers: { "content-type": `text/${type}` } });
        },
      },
    }).add(GreetServiceDef, {
      ...greeter,
      greet({ name }, { peer }) {
        ports.add(peer.port);
        return { greeting: `Hello, ${name}!` };
      },
    });
    await secure.listen({ port: 0, host: "127.0.0.1" });
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    const first = page;
    try {
      page = await context.newPage();
      const baseUrl = `https://127.0.0.1:${secure.address.port}`;
      await page.goto(baseUrl);
      await inPage("open", baseUrl);
      expect(await inPage("callAll", "Ann", "Bob")).toMatchObject({ together: "Hello, Ann and Bob!" });
      expect(ports.size).toBe(1);
    } finally {
      page = first;
      await context.close();
      await secure.close({ graceMs: 0 });
    }
  });

  it("makes 1,000 concurrent calls", async () => {
    expect(await inPage("callMany", 1_000)).toBe(1_000);
  });

  it("cancels a call", async () => {
    begun = signalled();
    ended = signalled();
    const failure = inPage("cancelled", "Snail");
    await begun.promise;
    await inPage("cancel");
    expect(await failure).toContain("[canceled]");
    expect(await ended.promise).toBe("canceled");
  });

  it("ends a call at its deadline", async () => {
    expect(await inPage("failure", "Snail", 200)).toContain("[deadline_exceeded]");
  });

  it("has the error that a client on Node has of a server that stops, and calls it again after its restart", async () => {
    const { port } = server.address;
    const onNode = createTransport({ baseUrl: `http://127.0.0.1:${port}` });
    const lost: Promise<unknown>[] = [];
    for (const call of [
      () => inPage("failure", "Snail"),
      async () => (await failureOf(createGreetServiceClient(onNode).greet({ name: "Snail" }))).message,
    ]) {
      begun = signalled();
      lost.push(call());
      await begun.promise;
    }
    await server.close({ graceMs: 0 });
    const [inThePage, outside] = await Promise.all(lost);
    expect(inThePage).toBe(outside);
    await onNode.close();
    server = await startServer(port);
    expect(await inPage("greet", "Ann")).toBe("Hello, Ann!");
  });
});
