/** Sub-protocol A in common frameworks: the same calls for each of them. */
import { createServer } from "node:http";
import { createRequire } from "node:module";
import connect from "connect";
import express, { type RequestHandler } from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { Code, type Metadata, type Router, RpcError } from "triple-es";
import { fastifyRpc } from "triple-es/fastify";
import { createTransport, type FetchTransportOptions, fetchHandler } from "triple-es/fetch";
import { addHealth } from "triple-es/health";
import { nodeHandler } from "triple-es/node";
import { addRest } from "triple-es/rest";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  createGreetServiceClient,
  type GreetServiceClient,
  type GreetServiceHandler,
} from "../../examples/gen/greet/v1/greet_triple.ts";
import { aborted, failureOf } from "../support/server.ts";
import { serveFetch } from "./fetch-server.ts";
import { greetRouter, listen, MAX_MESSAGE_BYTES, waiting } from "./host.ts";

// The types are those of Express 5; the members that are used are the same.
const express4 = createRequire(import.meta.url)("express4") as typeof express;

/** Serves the router below `/rpc`, and "mine" at `/mine`. */
type Framework = (router: Router) => Promise<string>;

const withExpress =
  (framework: typeof express): Framework =>
  (router) => {
    const app = framework();
    app.use("/rpc", nodeHandler(router));
    app.get("/mine", (_request, response) => void response.send("mine"));
    return listen(createServer(app));
  };

const FRAMEWORKS: Readonly<Record<string, Framework>> = {
  "node:http": (router) => {
    const handle = nodeHandler(router, { prefix: "/rpc" });
    return listen(
      createServer((request, response) =>
        handle(request, response, () => {
          response.statusCode = request.url === "/mine" ? 200 : 404;
          response.end("mine");
        }),
      ),
    );
  },
  "Express 5": withExpress(express),
  "Express 4": withExpress(express4),
  Connect: (router) => {
    const app = connect();
    app.use("/rpc", nodeHandler(router));
    app.use("/mine", (_request, response) => response.end("mine"));
    return listen(createServer(app));
  },
  Fastify: async (router) => {
    const app = fastify({ forceCloseConnections: true });
    onTestFinished(() => app.close());
    app.register(fastifyRpc, { router, prefix: "/rpc" });
    app.get("/mine", async () => "mine");
    return app.listen({ port: 0, host: "127.0.0.1" });
  },
  Hono: (router) => {
    const app = new Hono();
    const handle = fetchHandler(router, { prefix: "/rpc" });
    app.all("/rpc/*", ({ req }) => handle(req.raw));
    app.get("/mine", (context) => context.text("mine"));
    return serveFetch((request) => app.fetch(request));
  },
  "Hono's mount": (router) => {
    const app = new Hono();
    app.mount("/rpc", fetchHandler(router));
    app.get("/mine", (context) => context.text("mine"));
    return serveFetch((request) => app.fetch(request));
  },
  "route handlers like those of Next": (router) => {
    // app/rpc/[...method]/route.ts exports POST and OPTIONS, and for routes of REST their methods; Next also passes the
    // parameters of the route.
    const handle = fetchHandler(router, { prefix: "/rpc" });
    const route: Record<string, (request: Request, context: { params: Promise<object> }) => Promise<Response>> = {
      GET: handle,
      POST: handle,
      OPTIONS: handle,
    };
    return serveFetch(async (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/mine") return new Response("mine");
      const method = pathname.startsWith("/rpc/") ? route[request.method] : undefined;
      return method?.(request, { params: Promise.resolve({}) }) ?? new Response(null, { status: 404 });
    });
  },
};

const PATH = "/rpc/greet.v1.GreetService/Greet";

describe.each(Object.entries(FRAMEWORKS))("%s", (_, serve) => {
  async function reach(
    handler: Partial<GreetServiceHandler> = {},
    options: Omit<FetchTransportOptions, "baseUrl"> = {},
  ): Promise<GreetServiceClient> {
    const baseUrl = `${await serve(greetRouter(handler))}/rpc`;
    return createGreetServiceClient(createTransport({ baseUrl, ...options }));
  }

  const post = (baseUrl: string, path: string, body: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(baseUrl + path, { method: "POST", headers: { "content-type": "application/json", ...headers }, body });

  it.each(["json", "proto"] as const)("carries a call in %s, with metadata both ways", async (codec) => {
    const client = await reach({}, { codec });
    const seen: unknown[] = [];
    const answer = await client.greet(
      { name: "Ada" },
      {
        headers: { "x-echo": "here", "x-bytes-bin": Uint8Array.of(0, 255) },
        onHeaders: (headers) => seen.push(headers.get("x-echo")),
        onTrailers: (trailers) => seen.push(trailers.getBinary("x-bytes-bin")),
      },
    );
    expect(answer.greeting).toBe("Hello, Ada!");
    expect(seen).toEqual(["here", Uint8Array.of(0, 255)]);
  });

  it("answers routes of REST and probes, also for services that are added after the router was mounted", async () => {
    const router = greetRouter();
    addRest(router, { rules: [{ selector: "greet.v1.GreetService.Greet", get: "/v1/people/{name}:greet" }] });
    const baseUrl = `${await serve(router)}/rpc`;
    addHealth(router, { probes: true });
    const text = async (path: string): Promise<string> => (await fetch(`${baseUrl}${path}`)).text();
    expect(await text("/v1/people/Ada:greet")).toBe('{"greeting":"Hello, Ada!"}');
    expect(await text("/v1/people/A%2FB:greet?unknown=1")).toBe('{"greeting":"Hello, A/B!"}');
    expect(await text("/healthz")).toBe("alive\n");
    const refused = await fetch(`${baseUrl}/v1/people/Ada:greet`, { method: "POST" });
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  it("streams messages as they are produced, and ends the handler when the reader leaves", async () => {
    let ended = (_reason: unknown): void => {};
    const end = new Promise<unknown>((resolve) => {
      ended = resolve;
    });
    const client = await reach({
      async *greetEach({ names }, { signal }) {
        for (const name of names) yield { greeting: name };
        ended(await aborted(signal));
      },
    });
    const seen: string[] = [];
    for await (const { greeting } of client.greetEach({ names: ["Ada", "Bob"] })) {
      seen.push(greeting);
      if (seen.length === 2) break;
    }
    expect(seen).toEqual(["Ada", "Bob"]);
    expect(await end).toMatchObject({ code: Code.Canceled });
  });

  it("sends the headers of a stream before its first message", async () => {
    const client = await reach({
      async *greetEach(_, { responseHeaders, sendHeaders, signal }) {
        responseHeaders.set("x-echo", "early");
        sendHeaders();
        await aborted(signal);
        yield {};
      },
    });
    const controller = new AbortController();
    const seen: unknown[] = [];
    const onHeaders = (headers: Metadata): void => {
      seen.push(headers.get("x-echo"));
      controller.abort();
    };
    const messages = client.greetEach({}, { onHeaders, signal: controller.signal, timeoutMs: 20_000 });
    expect((await failureOf(messages)).code).toBe(Code.Canceled);
    expect(seen).toEqual(["early"]);
  });

  it("ends a stream at its deadline, and reports an error after messages", async () => {
    const client = await reach({
      async *greetEach({ names: [name = ""] }, { signal }) {
        yield { greeting: name };
        if (name === "") throw new RpcError(Code.NotFound, "no such person");
        await aborted(signal);
      },
    });
    const read = async (names: string[], timeoutMs?: number): Promise<void> => {
      for await (const _ of client.greetEach({ names }, { timeoutMs }));
    };
    expect(await failureOf(read([""]))).toMatchObject({ code: Code.NotFound, rawMessage: "no such person" });
    expect((await failureOf(read(["Ada"], 100))).code).toBe(Code.DeadlineExceeded);
  });

  it("carries large messages, and refuses those over the limit of the router", async () => {
    const client = await reach();
    const name = "x".repeat(MAX_MESSAGE_BYTES / 2);
    expect((await client.greet({ name })).greeting).toBe(`Hello, ${name}!`);
    expect((await failureOf(client.greet({ name: name + name }))).code).toBe(Code.ResourceExhausted);
  });

  it("carries errors with code, message and metadata", async () => {
    const error = await failureOf((await reach()).greet({}));
    expect([error.code, error.rawMessage]).toEqual([Code.NotFound, "no such person"]);
    expect(error.trailers.get("x-why")).toBe("no name");
  });

  it("keeps deadlines", async () => {
    const client = await reach({ greet: () => new Promise(() => {}) });
    expect((await failureOf(client.greet({}, { timeoutMs: 30 }))).code).toBe(Code.DeadlineExceeded);
  });

  it("notifies the handler when the caller disconnects", async () => {
    const { greet, started, ended } = waiting();
    const client = await reach({ greet });
    const controller = new AbortController();
    const call = client.greet({}, { signal: controller.signal });
    await started;
    controller.abort();
    expect((await failureOf(call)).code).toBe(Code.Canceled);
    expect(await ended).toBeDefined();
  });

  it("answers in its own words for a method that the service does not have", async () => {
    const response = await post(await serve(greetRouter()), "/rpc/greet.v1.GreetService/Gone", "[{}]");
    expect([response.status, (await response.json()) as object]).toMatchObject([404, { status: 60 }]);
  });

  it("leaves all other paths to the framework, and does not answer outside of the prefix", async () => {
    const baseUrl = await serve(greetRouter());
    expect(await (await fetch(`${baseUrl}/mine`)).text()).toBe("mine");
    for (const path of ["/gone", "/greet.v1.GreetService/Greet", "/rpcgreet.v1.GreetService/Greet"]) {
      expect((await post(baseUrl, path, '[{"name":"Ada"}]')).status, path).toBe(404);
    }
  });

  it("answers gRPC over HTTP/1.1 with 505, and bodies that are no JSON with 400", async () => {
    const baseUrl = await serve(greetRouter());
    expect((await post(baseUrl, PATH, "", { "content-type": "application/grpc" })).status).toBe(505);
    expect((await post(baseUrl, PATH, "[{")).status).toBe(400);
  });
});

describe("middleware before the handler", () => {
  async function start(before: RequestHandler): Promise<string> {
    const app = express();
    app.use(before);
    app.use(nodeHandler(greetRouter()));
    return listen(createServer(app));
  }
  const greet = (baseUrl: string, name = "Ada"): Promise<Response> =>
    fetch(`${baseUrl}/greet.v1.GreetService/Greet`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify([{ name }]),
    });

  it("keeps the fields it has set", async () => {
    const baseUrl = await start((_request, response, next) => {
      response.setHeader("x-request-id", "7").setHeader("vary", "cookie").appendHeader("set-cookie", "a=1");
      next();
    });
    const { headers } = await greet(baseUrl);
    expect([headers.get("x-request-id"), headers.get("vary"), headers.get("set-cookie")]).toMatchObject([
      "7",
      expect.stringContaining("cookie"),
      "a=1",
    ]);
  });

  it("causes an error with the remedy if it has read the body", async () => {
    const response = await greet(await start(express.json()));
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({
      status: 80,
      message: expect.stringContaining("mount the handler before body parsers such as express.json()"),
      code: "internal",
    });
  });

  it("has no effect if it has not read the body", async () => {
    expect((await greet(await start(express.json({ type: "text/json" })))).status).toBe(200);
  });
});

describe("Fastify", () => {
  it("applies its hooks and headers, and keeps its own body parsers for its own routes", async () => {
    const app = fastify({ forceCloseConnections: true });
    onTestFinished(() => app.close());
    app.addHook("onRequest", async (_request, reply) => {
      reply.header("x-request-id", "7");
    });
    app.register(fastifyRpc, { router: greetRouter() });
    app.post<{ Body: { name: string } }>("/mine", async ({ body }) => body.name);
    const baseUrl = await app.listen({ port: 0, host: "127.0.0.1" });
    const headers = { "content-type": "application/json" };
    const mine = await fetch(`${baseUrl}/mine`, { method: "POST", headers, body: '{"name":"Ada"}' });
    expect(await mine.text()).toBe("Ada");
    const answer = await fetch(`${baseUrl}/greet.v1.GreetService/Greet`, {
      method: "POST",
      headers,
      body: '[{"name":"Ada"}]',
    });
    expect(await answer.json()).toEqual({ greeting: "Hello, Ada!" });
    expect(answer.headers.get("x-request-id")).toBe("7");
  });
});

describe("a prefix", () => {
  it("must start with a slash", () => {
    expect(() => nodeHandler(greetRouter(), { prefix: "rpc" })).toThrow('prefix "rpc" must start with "/"');
    expect(() => fetchHandler(greetRouter(), { prefix: "rpc" })).toThrow(TypeError);
  });

  it("cannot be bypassed by additional slashes", async () => {
    const handle = fetchHandler(greetRouter(), { prefix: "/rpc" });
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: '[{"name":"Ada"}]' };
    for (const path of ["//greet.v1.GreetService/Greet", "///greet.v1.GreetService/Greet"]) {
      expect((await handle(new Request(`https://a.example${path}`, init))).status).toBe(404);
    }
  });
});

describe("the plugin for Fastify", () => {
  const router = (): Router => {
    const made = greetRouter();
    addRest(made, { rules: [{ selector: "greet.v1.GreetService.Greet", get: "/v1/people/{name}" }] });
    return made;
  };
  const textOf = async (url: string): Promise<string> => (await fetch(url)).text();

  it("answers routes of REST next to a route of the application for all paths", async () => {
    const app = fastify({ forceCloseConnections: true });
    onTestFinished(() => app.close());
    app.get("/*", async () => "page");
    app.register(fastifyRpc, { router: router() });
    app.get("/v1/people/me", async () => "mine");
    const origin = await app.listen({ port: 0, host: "127.0.0.1" });
    expect(await textOf(`${origin}/v1/people/Ada`)).toBe('{"greeting":"Hello, Ada!"}');
    expect(await textOf(`${origin}/v1/people/me`)).toBe("mine");
    expect(await textOf(`${origin}/v1/pets/Ada`)).toBe("page");
  });

  it("leaves other paths to the handler for missing routes, and applies hooks to routes of REST", async () => {
    const app = fastify({ forceCloseConnections: true });
    onTestFinished(() => app.close());
    app.setNotFoundHandler((_request, reply) => void reply.code(404).send("nothing here"));
    app.addHook("onRequest", async (_request, reply) => void reply.header("x-hook", "ran"));
    app.register(fastifyRpc, { router: router(), prefix: "/one" });
    app.register(fastifyRpc, { router: router(), prefix: "/two" });
    const origin = await app.listen({ port: 0, host: "127.0.0.1" });
    for (const prefix of ["/one", "/two"]) {
      const response = await fetch(`${origin}${prefix}/v1/people/Ada`);
      expect([await response.text(), response.headers.get("x-hook")]).toEqual(['{"greeting":"Hello, Ada!"}', "ran"]);
    }
    for (const path of ["/v1/people/Ada", "/one/v1/pets/Ada"]) expect(await textOf(origin + path)).toBe("nothing here");
  });
});
