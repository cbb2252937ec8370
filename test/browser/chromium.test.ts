/**
 * The generated client in a real browser, calling a server of another origin. The browser is Debian's package `chromium`.
 */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { RpcError } from "triple-es";
import { createServer as createRpcServer, type Server } from "triple-es/node";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { GreetServiceDef, type GreetServiceHandler } from "../../examples/gen/greet/v1/greet_triple.ts";
import { createCallee } from "../platforms/callee.ts";
import { type Calls, type CodecName, EXPECTED } from "../platforms/calls.ts";
import { bundlePage, EXECUTABLE, launchBrowser } from "../support/chromium.ts";
import { pause } from "../support/pause.ts";
import { signalled } from "../support/server.ts";
import type { StreamOfPage } from "./page.ts";

const hasChromium = existsSync(EXECUTABLE);
if (!hasChromium) console.warn(`skipped: there is no browser at ${EXECUTABLE}; apt-get install chromium brings one`);

describe.skipIf(!hasChromium)("the generated client in Chromium", () => {
  const pages = createServer();
  let browser: Browser;
  let server: Server;
  let baseUrl: string;
  /** A page whose origin the server allows, and one whose origin it does not allow. */
  let friend: Page;
  let stranger: Page;

  beforeAll(async () => {
    const script = await bundlePage("test/browser/page.ts");
    pages.on("request", (request, response) => {
      if (request.url === "/page.js") response.setHeader("content-type", "text/javascript").end(script);
      else response.setHeader("content-type", "text/html").end('<!doctype html><script src="/page.js"></script>');
    });
    pages.listen(0, "127.0.0.1");
    await once(pages, "listening");
    const { port } = pages.address() as AddressInfo;
    server = await startRpcServer([`http://127.0.0.1:${port}`]);
    baseUrl = `http://127.0.0.1:${server.address.port}`;
    browser = await launchBrowser();
    friend = await browser.newPage();
    await friend.goto(`http://127.0.0.1:${port}/`);
    stranger = await browser.newPage();
    await stranger.goto(`http://localhost:${port}/`);
  });

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

  /** Makes one of the page's calls, in the page. */
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

  describe("reads a stream", () => {
    /** Reads from the stream of the page, or ends it. */
    const inPage = <Name extends keyof StreamOfPage>(
      name: Name,
      ...args: Parameters<StreamOfPage[Name]>
    ): Promise<Awaited<ReturnType<StreamOfPage[Name]>>> =>
      friend.evaluate(
        ([name, args]) => {
          const { stream } = globalThis as unknown as { stream: Record<string, (...args: unknown[]) => unknown> };
          return stream[name]?.(...args);
        },
        [name, args] as const,
      ) as Promise<Awaited<ReturnType<StreamOfPage[Name]>>>;

    /** A server of streams, with the state that the test checks. */
    async function startStreams(greetEach: GreetServiceHandler["greetEach"], port = 0): Promise<Server> {
      const origins = [new URL(friend.url()).origin];
      const started = createRpcServer({ cors: { origins } }).add(GreetServiceDef, { ...createCallee(), greetEach });
      await started.listen({ port, host: "127.0.0.1" });
      onTestFinished(() => started.close({ graceMs: 0 }));
      return started;
    }
    const urlOf = ({ address }: Server): string => `http://127.0.0.1:${address.port}`;

    it("of 10,000 messages, and the handler produces no more than the page and the buffers accept", async () => {
      let made = 0;
      const streams = await startStreams(async function* () {
        while (made < 10_000) yield { greeting: `${++made}`.padEnd(20_000, ".") };
      });
      await inPage("open", urlOf(streams), "Ada");
      expect(await inPage("read", 1)).toEqual({ read: 1 });
      // The page stops reading, so the buffers fill up and the handler stops.
      for (let before = -1; before !== made; await pause(500)) before = made;
      expect(made).toBeGreaterThan(0);
      expect(made).toBeLessThan(9_000);
      expect(await inPage("read", 10_000)).toEqual({ read: 9_999, end: "done" });
      expect(made).toBe(10_000);
    });

    it("and cancels it when the page leaves it", async () => {
      const left = signalled<string>();
      const streams = await startStreams(async function* (_, { signal }) {
        signal.addEventListener("abort", () => left.resolve(RpcError.from(signal.reason).message));
        yield { greeting: "one" };
        await left.promise;
      });
      await inPage("open", urlOf(streams), "Ada");
      expect(await inPage("read", 1)).toEqual({ read: 1 });
      await inPage("leave");
      expect(await left.promise).toContain("[canceled]");
    });

    it("up to its deadline", async () => {
      const streams = await startStreams(async function* (_, { signal }) {
        yield { greeting: "one" };
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      });
      await inPage("open", urlOf(streams), "Ada", 2_000);
      expect(await inPage("read", 2)).toEqual({
        read: 1,
        end: expect.stringContaining("[deadline_exceeded] the deadline of 2000 ms has passed before the next message"),
      });
    });

    it("until the server stops, with an error that names the cause, and again after its restart", async () => {
      const streams = await startStreams(async function* () {
        yield { greeting: "one" };
        await new Promise(() => {});
      });
      const { port } = streams.address;
      await inPage("open", urlOf(streams), "Ada");
      expect(await inPage("read", 1)).toEqual({ read: 1 });
      const rest = inPage("read", 1);
      await streams.close({ graceMs: 0 });
      expect(await rest).toEqual({ read: 0, end: "[unavailable] the body ended early: network error" });
      const again = await startStreams(async function* () {
        yield { greeting: "two" };
      }, port);
      await inPage("open", urlOf(again), "Ada");
      expect(await inPage("read", 2)).toEqual({ read: 1, end: "done" });
    });
  });

  it("may not call from an origin that the server does not allow", async () => {
    const refused = await call("greet", "json", stranger).catch((error: Error) => error.message);
    expect(refused).toContain("[unavailable] cannot reach");
    expect(refused).toContain("Failed to fetch, or it does not allow pages of this origin (option cors)");
  });
});
