/** The option `console`: when the page is served, its headers, and calls from it in Chromium, without another server. */
import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { promisify } from "node:util";
import express from "express";
import fastify from "fastify";
import type { Browser, Locator, Page } from "playwright-core";
import { Code, type Interceptor, RpcError } from "triple-es";
import { fastifyRpc } from "triple-es/fastify";
import { fetchHandler } from "triple-es/fetch";
import { createRouter, createServer, type NodeRouterOptions, nodeHandler, type Server } from "triple-es/node";
import { addOpenApi } from "triple-es/openapi";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { grpcurlLine } from "../../runtime/src/openapi/command-line.ts";
import { EXECUTABLE, launchBrowser } from "../support/chromium.ts";
import { ROOT } from "../support/documents.ts";
import { greeter, signalled } from "../support/server.ts";
import { hasJudges, JUDGES } from "./installed.ts";

const run = promisify(execFile);
const hasChromium = existsSync(EXECUTABLE);

/** The file to which the picture of docs/openapi.md is written, if it is to be written. */
const { SCREENSHOT } = process.env;

/** Starts the process of this test in another folder, as the option `console` sees it. */
const startIn = (folder: string) => vi.spyOn(process, "cwd").mockReturnValue(folder);

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

async function start(options: NodeRouterOptions = { console: true }): Promise<Server & { url: string }> {
  const server = createServer(options).add(GreetServiceDef, greeter);
  await server.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return Object.assign(server, { url: `http://127.0.0.1:${server.address.port}` });
}

/** Starts a server of `node:http`. Returns its origin. */
async function listen(handler: RequestListener): Promise<string> {
  const server = createHttpServer(handler).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("the option console", () => {
  it("is refused if it is invalid, or if Swagger UI is not installed", () => {
    startIn(tmpdir());
    expect(() => createServer({ console: "never" as never })).toThrow(
      new TypeError('console must be in [true,false,"always"], not "never"'),
    );
    expect(() => createServer({ console: true })).toThrow(
      "the option console needs the package swagger-ui-dist: npm install --save-dev swagger-ui-dist, or NODE_ENV=production",
    );
  });

  it("is off by default, and true is ignored in production, where Swagger UI need not be installed", async () => {
    startIn(tmpdir());
    vi.stubEnv("NODE_ENV", "production");
    for (const options of [{}, { console: false }, { console: true }]) {
      expect((await fetch(`${(await start(options)).url}/triple`)).status).toBe(404);
    }
  });
});

describe("the line of grpcurl", () => {
  it("authorizes the call and that of the reflection service", () => {
    const headers = {
      accept: "application/grpc+json",
      "Content-Type": "application/grpc+json",
      Authorization: "Bearer t",
    };
    expect(grpcurlLine("/a.S/B", { url: "https://a.example/a.S/B", headers, body: "{}" })).toBe(
      "grpcurl -H 'authorization: Bearer t' -d '{}' 'a.example' 'a.S/B'",
    );
  });

  it("has the version, the group and the timeout of the call", () => {
    const path = "/shop.v1.ShopService/Import";
    const headers = { "tri-service-version": "1.0.0", "tri-service-group": "Ann's", "tri-service-timeout": "1500" };
    expect(grpcurlLine(path, { url: `https://shop.example${path}`, headers, body: '{"id":"1"}' })).toBe(
      "grpcurl -rpc-header 'tri-service-version: 1.0.0' -rpc-header 'tri-service-group: Ann'\\''s' -max-time 1.5 -d '{\"id\":\"1\"}' 'shop.example' 'shop.v1.ShopService/Import'",
    );
  });
});

describe("the document of a server below a prefix", () => {
  const described = () => {
    const router = createRouter().add(GreetServiceDef, greeter);
    addOpenApi(router, { path: "/docs/openapi.json" });
    return router;
  };
  const adapters: Record<string, () => Promise<string>> = {
    "Express, at a path": () => listen(express().use("/api", nodeHandler(described()))),
    "nodeHandler, with a prefix": () => listen(nodeHandler(described(), { prefix: "/api" })),
    "Fastify, with a prefix": async () => {
      const app = fastify().register(fastifyRpc, { router: described(), prefix: "/api" });
      onTestFinished(() => app.close());
      return app.listen({ port: 0, host: "127.0.0.1" });
    },
  };
  const base = async (ask: typeof fetch, location: string): Promise<string> => {
    const { servers } = (await (await ask(location)).json()) as { servers: { url: string }[] };
    return new URL(servers[0]?.url ?? "", location).href.replace(/\/$/, "");
  };

  it.each(Object.entries(adapters))("has the address of the methods: %s", async (_, open) => {
    const origin = await open();
    const url = await base(fetch, `${origin}/api/docs/openapi.json`);
    expect(url).toBe(`${origin}/api`);
    const response = await fetch(`${url}/greet.v1.GreetService/Greet`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"name": "Ada"}',
    });
    expect(await response.json()).toEqual({ greeting: "Hello, Ada!" });
  });

  it("has the address of the methods: fetchHandler, with a prefix", async () => {
    const handler = fetchHandler(described(), { prefix: "/api" });
    const ask: typeof fetch = (input) => handler(new Request(input));
    expect(await base(ask, "http://a.example/api/docs/openapi.json")).toBe("http://a.example/api");
  });
});

describe.skipIf(!hasJudges)("the page", () => {
  beforeAll(() => {
    const { status, stderr } = spawnSync(process.execPath, ["scripts/build.js", "console"], { cwd: ROOT });
    if (status !== 0) throw new Error(`${stderr}`);
  });
  beforeEach(() => {
    startIn(JUDGES);
  });

  it("may load and call nothing but the server, and is not stored or framed", async () => {
    const { url } = await start();
    const response = await fetch(`${url}/triple`);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(response.headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; script-src 'self'; .*connect-src 'self'; /,
    );
    const fields = ["x-content-type-options", "x-frame-options", "referrer-policy", "cache-control"];
    expect(fields.map((name) => response.headers.get(name))).toEqual(["nosniff", "DENY", "no-referrer", "no-store"]);
  });

  it("has its files and its document below its path, and no other files", async () => {
    const { url } = await start({ console: "always" });
    const ask = async (name: string, method = "GET") => {
      const response = await fetch(`${url}/triple/${name}`, { method });
      return [response.status, response.headers.get("content-type"), (await response.text()).length > 1_000] as const;
    };
    expect(await ask("page.js")).toEqual([200, "text/javascript; charset=utf-8", true]);
    expect((await ask("page.css")).slice(0, 2)).toEqual([200, "text/css; charset=utf-8"]);
    expect(await ask("swagger-ui.css")).toEqual([200, "text/css; charset=utf-8", true]);
    expect(await ask("openapi.json")).toEqual([200, "application/json", true]);
    expect(await ask("openapi.json?fresh=1")).toEqual([200, "application/json", true]);
    for (const name of ["package.json", "..%2fpackage.json", "constructor", ""]) expect((await ask(name))[0]).toBe(404);
    expect((await ask("page.js", "POST"))[0]).toBe(405);
  });

  it("is served in production if it is always served, also by handlers for other servers", async () => {
    vi.stubEnv("NODE_ENV", "production");
    expect((await fetch(`${(await start({ console: "always" })).url}/triple`)).status).toBe(200);
    const handler = nodeHandler(createRouter({ console: "always" }));
    expect((await fetch(`${await listen(handler)}/triple`)).status).toBe(200);

    const app = fastify();
    app.register(fastifyRpc, { router: createRouter({ console: "always" }), prefix: "/rpc" });
    onTestFinished(() => app.close());
    const below = `${await app.listen({ port: 0, host: "127.0.0.1" })}/rpc/triple`;
    for (const name of ["", "/page.js", "/openapi.json"]) expect((await fetch(`${below}${name}`)).status).toBe(200);
  });

  it("has the title and the comments of the document that the server also serves elsewhere", async () => {
    const server = await start();
    addOpenApi(server, { info: { title: "Greetings" } });
    const document = (await (await fetch(`${server.url}/triple/openapi.json`)).json()) as { info: unknown };
    expect(document.info).toEqual({ title: "Greetings", version: "1.0.0" });
  });

  describe.skipIf(!hasChromium)("in Chromium", () => {
    let browser: Browser;
    let page: Page;
    /** Problems that the browser reports, and requests for other servers. */
    let problems: string[];

    beforeAll(async () => {
      browser = await launchBrowser();
    });
    afterAll(() => browser?.close());
    beforeEach(async () => {
      problems = [];
      page = await browser.newPage({ viewport: { width: 1000, height: 900 } });
      page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
      page.on("pageerror", (error) => problems.push(String(error)));
      onTestFinished(() => page.close());
    });

    /** Calls Greet with the open operation. Returns the element of the response. */
    async function execute(operation: Locator): Promise<Locator> {
      await operation.locator("textarea").fill('{"name": "Ada"}');
      await operation.getByRole("button", { name: "Execute" }).click();
      const answer = operation.locator(".live-responses-table .highlight-code").first();
      await answer.waitFor();
      return answer;
    }

    /** Opens the page and the operation of a method. */
    async function open(url: string, method: string): Promise<Locator> {
      page.on("request", (request) => {
        if (!request.url().startsWith(url) && !request.url().startsWith("data:")) problems.push(request.url());
      });
      await page.goto(`${url}/triple`);
      const path = page.locator(`[data-path="/greet.v1.GreetService/${method}"]`);
      await path.click();
      return page.locator(".opblock.is-open");
    }

    it("calls a unary method, and shows the curl line that does so too", async () => {
      const { url } = await start();
      const operation = await open(url, "Greet");
      const answer = await execute(operation);
      expect(await answer.innerText()).toContain('"greeting": "Hello, Ada!"');
      const { stdout } = await run("sh", [
        "-c",
        `${await operation.locator(".curl-command .curl").innerText()} --silent`,
      ]);
      expect(JSON.parse(stdout)).toEqual({ greeting: "Hello, Ada!" });
      expect(problems).toEqual([]);
    });

    it("calls a server streaming method, and shows the curl line", async () => {
      const { url } = await start();
      const operation = await open(url, "GreetEach");
      await operation.locator("textarea").fill(`{"names": ["Ada", "it's 100%"]}`);
      await operation.getByRole("button", { name: "Start stream" }).click();
      const state = operation.locator(".triple-state");
      await expect.poll(() => state.innerText()).toBe("2 messages: the stream has ended");
      const messages = await operation.locator(".triple-message").allInnerTexts();
      expect(messages.map((text) => JSON.parse(text).greeting)).toEqual(["Hello, Ada!", "Hello, it's 100%!"]);
      const { stdout } = await run("sh", [
        "-c",
        `${await operation.locator(".curl-command .curl").innerText()} --silent`,
      ]);
      expect(stdout).toContain(`{"greeting":"Hello, it's 100%!"}`);
      expect(stdout).toContain("event: end");
      await page.evaluate("scrollTo(0, 0)");
      const box = await operation.boundingBox();
      if (SCREENSHOT !== undefined && box !== null) {
        await page.screenshot({ path: SCREENSHOT, fullPage: true, clip: { ...box, height: 1_150 } });
      }
      await operation.locator("textarea").fill("{");
      await operation.getByRole("button", { name: "Start stream" }).click();
      await expect.poll(() => state.innerText()).toMatch(/^0 messages: .*"code":"invalid_argument"/);
      expect(problems).toEqual([expect.stringContaining("400")]);
    });

    it("cancels a stream", async () => {
      const left = signalled<void>();
      const server = createServer({ console: true }).add(GreetServiceDef, {
        ...greeter,
        async *greetEach(_, { signal }) {
          signal.addEventListener("abort", () => left.resolve());
          yield { greeting: "one" };
          await left.promise;
        },
      });
      await server.listen({ port: 0, host: "127.0.0.1" });
      onTestFinished(() => server.close({ graceMs: 0 }));
      const operation = await open(`http://127.0.0.1:${server.address.port}`, "GreetEach");
      await operation.getByRole("button", { name: "Start stream" }).click();
      await operation.locator(".triple-message").waitFor();
      await operation.getByRole("button", { name: "Cancel stream" }).click();
      await left.promise;
      await expect.poll(() => operation.locator(".triple-state").innerText()).toBe("1 messages: canceled");
      expect(problems).toEqual([]);
    });

    it("calls streams with the token of Authorize, as unary methods, and shows it in the lines of curl and grpcurl", async () => {
      const authenticate: Interceptor = (next) => (request) => {
        if (request.headers.get("authorization") === "Bearer secret") return next(request);
        throw new RpcError(Code.Unauthenticated, "a bearer token is needed");
      };
      const server = await start({ console: true, interceptors: [authenticate] });
      const securitySchemes = { bearer: { type: "http", scheme: "bearer" } };
      addOpenApi(server, { securitySchemes, security: [{ bearer: [] }] });
      const operation = await open(server.url, "GreetEach");
      const state = operation.locator(".triple-state");
      await operation.locator("textarea").fill('{"names": ["Ada"]}');
      await operation.getByRole("button", { name: "Start stream" }).click();
      await expect.poll(() => state.innerText()).toContain("a bearer token is needed");

      await operation.getByRole("button", { name: "authorization button unlocked" }).click();
      await page.locator(".auth-container input").fill("secret");
      await page.locator(".auth-btn-wrapper .authorize").click();
      await page.locator(".auth-btn-wrapper .btn-done").click();
      await operation.getByRole("button", { name: "authorization button locked" }).waitFor();
      await operation.getByRole("button", { name: "Start stream" }).click();
      await expect.poll(() => state.innerText()).toBe("1 messages: the stream has ended");
      const { stdout } = await run("sh", [
        "-c",
        `${await operation.locator(".curl-command .curl").innerText()} --silent`,
      ]);
      expect(stdout).toContain("Hello, Ada!");
      await page.locator('[data-path="/greet.v1.GreetService/GreetOnArrival"]').click();
      const grpcurl = page.locator(".triple-curl", { hasText: "grpcurl" });
      expect(await grpcurl.innerText()).toContain("-H 'authorization: Bearer secret'");
      expect(problems).toEqual([expect.stringContaining("401")]);
    });

    it("calls unary methods and streams below a prefix that a proxy removes", async () => {
      const handler = nodeHandler(createRouter({ console: true }).add(GreetServiceDef, greeter));
      const origin = await listen((request, response) => {
        // As a proxy that removes a path, which the server cannot know.
        request.url = (request.url ?? "").replace(/^\/api/, "");
        handler(request, response);
      });
      const url = `${origin}/api`;
      expect(await (await execute(await open(url, "Greet"))).innerText()).toContain("Hello, Ada!");
      const operation = await open(url, "GreetEach");
      await operation.locator("textarea").fill('{"names": ["Ada"]}');
      await operation.getByRole("button", { name: "Start stream" }).click();
      await expect.poll(() => operation.locator(".triple-state").innerText()).toBe("1 messages: the stream has ended");
      expect(problems).toEqual([]);
    });

    it("fits a screen of 375 px, with a long name and a long comment of a service", async () => {
      await page.setViewportSize({ width: 375, height: 900 });
      const { url } = await start();
      const description = "Greets one person, or many of them, and says a good deal about how that is done.";
      await page.route(`${url}/triple/openapi.json`, async (route) => {
        const document = await (await route.fetch()).json();
        await route.fulfill({ json: { ...document, tags: [{ ...document.tags[0], description }] } });
      });
      const operation = await open(url, "Greet");
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(375);
      const text = await page.locator(".opblock-tag small").boundingBox();
      expect(text?.width).toBeGreaterThan(250);
      await execute(operation);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(375);
    });

    it("marks streams in the list, and shows errors as documented", async () => {
      const { url } = await start();
      const operation = await open(url, "Greet");
      const labels = await page.locator(".opblock-summary").allInnerTexts();
      const labelOf = (name: string) => labels.find((text) => text.includes(`/${name}\n`))?.match(/\w+ stream/)?.[0];
      expect(["Greet", "GreetEach", "GreetTogether", "GreetOnArrival"].map(labelOf)).toEqual([
        undefined,
        "server stream",
        "client stream",
        "bidirectional stream",
      ]);
      await operation.locator("textarea").fill('{"name": 1}');
      await operation.getByRole("button", { name: "Execute" }).click();
      const status = operation.locator(".live-responses-table .response .response-col_status");
      expect(await status.innerText()).toBe("400");
      expect(problems).toEqual([expect.stringContaining("400")]);
    });

    it("shows the line of grpcurl for streams that browsers cannot send", async () => {
      const { url } = await start();
      const operation = await open(url, "GreetOnArrival");
      expect(await operation.locator(".triple-curl").innerText()).toMatch(
        /^grpcurl -d '\{[^']*\}' -plaintext '127\.0\.0\.1:\d+' 'greet\.v1\.GreetService\/GreetOnArrival'$/,
      );
      expect(await operation.getByRole("button", { name: "Execute" }).count()).toBe(0);
      expect(problems).toEqual([]);
    });
  });
});
