/**
 * The option `fallback`: requests on the port of a server that are not calls, in the form of `node:http` and of `fetch`.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect } from "node:http2";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import express from "express";
import { Hono } from "hono";
import { createRouter } from "triple-es";
import { addHealth } from "triple-es/health";
import { createServer, type FallbackApplication, nodeHandler } from "triple-es/node";
import { describe, expect, it } from "vitest";
import { GreetServiceDef } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { ask, VERSIONS } from "../../support/ask.ts";
import { hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import { connectGreeter, greeter, openSocket, signalled, startServer } from "../../support/server.ts";

// The types are those of Express 5; the members that are used are the same.
const express4 = createRequire(import.meta.url)("express4") as typeof express;

const BIG = Buffer.alloc(3_000_000, "0123456789abcdef");
const digest = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** The same application in each form. */
function expressApplication(create: typeof express): FallbackApplication {
  const app = create();
  app.get("/page", (request, response) => {
    response.cookie("a", "1").cookie("b", "2").set("x-query", String(request.query["q"]));
    response.type("html").send(`<p>${request.hostname} ${request.ip} ${request.protocol}</p>`);
  });
  app.post("/json", create.json(), (request, response) => void response.status(201).json({ got: request.body }));
  app.post("/digest", create.raw({ limit: "10mb" }), (request, response) => void response.send(digest(request.body)));
  app.get("/big", (_, response) => void response.send(BIG));
  app.get("/moved", (_, response) => void response.redirect("/page"));
  app.get("/empty", (_, response) => void response.status(204).end());
  app.get("/broken", () => {
    throw new Error("the page is broken");
  });
  return app;
}

function fetchApplication(): FallbackApplication {
  const app = new Hono<{ Bindings: { peer?: { address?: string } } }>();
  app.get("/page", (c) => {
    c.header("set-cookie", "a=1; Path=/");
    c.header("set-cookie", "b=2; Path=/", { append: true });
    c.header("x-query", c.req.query("q"));
    const { hostname, protocol } = new URL(c.req.url);
    return c.html(`<p>${hostname} ${c.env.peer?.address} ${protocol.slice(0, -1)}</p>`);
  });
  app.post("/json", async (c) => c.json({ got: await c.req.json() }, 201));
  app.post("/digest", async (c) => c.text(digest(new Uint8Array(await c.req.arrayBuffer()))));
  app.get("/big", (c) => c.body(new Uint8Array(BIG)));
  app.get("/moved", (c) => c.redirect("/page"));
  app.get("/empty", (c) => c.body(null, 204));
  app.get("/broken", () => {
    throw new Error("the page is broken");
  });
  app.onError((_, c) => c.text("Error", 500));
  return app;
}

const APPLICATIONS: Readonly<Record<string, () => FallbackApplication>> = {
  "Express 5": () => expressApplication(express),
  "Express 4": () => expressApplication(express4),
  Hono: fetchApplication,
};

describe.each(Object.entries(APPLICATIONS))("a fallback of %s", (_, application) => {
  describe.each(VERSIONS)("over %s", (version) => {
    const start = async (): Promise<string> => (await startServer({}, { fallback: application() })).baseUrl;

    it("answers with its headers, cookies and the client's address", async () => {
      const { status, headers, text } = await ask(version, `${await start()}/page?q=1`);
      expect([status, text]).toEqual([200, "<p>127.0.0.1 127.0.0.1 http</p>"]);
      expect(headers["content-type"]).toMatch(/^text\/html/);
      expect(headers["set-cookie"]).toEqual(["a=1; Path=/", "b=2; Path=/"]);
      expect(headers["x-query"]).toBe("1");
    });

    it("receives bodies, small and large", async () => {
      const baseUrl = await start();
      const headers = { "content-type": "application/json" };
      const json = await ask(version, `${baseUrl}/json`, { method: "POST", headers, body: '{"a":"ä"}' });
      expect([json.status, JSON.parse(json.text)]).toEqual([201, { got: { a: "ä" } }]);
      const type = { "content-type": "application/octet-stream" };
      const large = await ask(version, `${baseUrl}/digest`, { method: "POST", headers: type, body: BIG });
      expect(large.text).toBe(digest(BIG));
    });

    it("answers with large bodies, redirections, empty bodies and the headers of HEAD", async () => {
      const baseUrl = await start();
      expect(digest((await ask(version, `${baseUrl}/big`)).bytes)).toBe(digest(BIG));
      const moved = await ask(version, `${baseUrl}/moved`);
      expect([moved.status, moved.headers["location"]]).toEqual([302, "/page"]);
      const empty = await ask(version, `${baseUrl}/empty`);
      expect([empty.status, empty.text, empty.headers["content-length"]]).toEqual([204, "", undefined]);
      const head = await ask(version, `${baseUrl}/page`, { method: "HEAD" });
      expect([head.status, head.text]).toEqual([200, ""]);
      expect(head.headers["content-type"]).toMatch(/^text\/html/);
    });

    it("answers its own errors and unknown paths itself", async () => {
      const baseUrl = await start();
      expect((await ask(version, `${baseUrl}/broken`)).status).toBe(500);
      expect((await ask(version, `${baseUrl}/nothing`)).status).toBe(404);
    });

    it("leaves calls to the router, also those of unknown methods and services", async () => {
      const { baseUrl } = await startServer({}, { fallback: application() });
      expect((await connectGreeter(baseUrl).greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
      const json = { "content-type": "application/json" };
      const call = { method: "POST", headers: json, body: '{"name":"Ada"}' };
      expect((await ask(version, `${baseUrl}/greet.v1.GreetService/Greet`, call)).text).toContain("Hello, Ada!");
      const unknown = await ask(version, `${baseUrl}/greet.v1.GreetService/Nothing`, call);
      expect(JSON.parse(unknown.text)).toMatchObject({ status: 60 });
      const marked = { ...call, headers: { ...json, "tri-protocol-version": "1.0.0" } };
      expect(JSON.parse((await ask(version, `${baseUrl}/no.Service/Nothing`, marked)).text)).toMatchObject({
        status: 60,
      });
    });
  });
});

describe.each(VERSIONS)("a fallback over %s", (version) => {
  const failing: Readonly<Record<string, FallbackApplication>> = {
    "a listener that throws": () => {
      throw new Error("secret");
    },
    "a listener that rejects": (async () => {
      throw new Error("secret");
    }) as never,
    "a fetch that rejects": { fetch: () => Promise.reject(new Error("secret")) },
    "a fetch without a response": { fetch: () => undefined as never },
  };

  it.each(Object.entries(failing))("answers 500 for %s, and reports the error once", async (_, fallback) => {
    const errors: unknown[] = [];
    const { baseUrl } = await startServer(
      {},
      { fallback, onError: (error, path) => errors.push([String(error), path]) },
    );
    const { status, text } = await ask(version, `${baseUrl}/page`);
    expect([status, text]).toEqual([500, "internal server error\n"]);
    expect(errors).toEqual([[expect.stringMatching(/secret|must return a Response/), "/page"]]);
  });

  it("passes a response with a length on whose chunks come one by one", async () => {
    const chunk = Buffer.alloc(50_000, "x");
    const fallback = (_: IncomingMessage, response: ServerResponse): void => {
      response.setHeader("content-length", 8 * chunk.length);
      Readable.from(Array(8).fill(chunk)).pipe(response);
    };
    const { baseUrl } = await startServer({}, { fallback });
    expect((await ask(version, `${baseUrl}/page`)).text).toHaveLength(8 * chunk.length);
  });

  it("cuts a response short whose body fails", async () => {
    const errors: unknown[] = [];
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(Buffer.from("begun")),
      pull: (controller) => controller.error(new Error("the disk is full")),
    });
    const { baseUrl } = await startServer(
      {},
      { fallback: { fetch: () => new Response(body) }, onError: (error) => errors.push(String(error)) },
    );
    await expect(ask(version, `${baseUrl}/page`)).rejects.toThrow();
    expect(errors).toEqual(["Error: the disk is full"]);
  });

  it("is notified when its client disconnects", async () => {
    const gone = signalled();
    const begun = signalled();
    const fallback = (_: IncomingMessage, response: ServerResponse): void => {
      response.on("close", gone.resolve).write("begun");
      begun.resolve();
    };
    const { baseUrl, port } = await startServer({}, { fallback });
    if (version === "HTTP/2") {
      const session = connect(baseUrl);
      const stream = session.request({ ":path": "/" });
      await once(stream, "data");
      stream.close(8);
      await gone.promise;
      session.close();
    } else {
      const socket = await openSocket(port);
      socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
      await begun.promise;
      socket.destroy();
      await gone.promise;
    }
  });

  it("does not keep a closing server open", async () => {
    const began = signalled();
    const finish = signalled();
    const fallback = async (_: IncomingMessage, response: ServerResponse): Promise<void> => {
      response.write("begun ");
      began.resolve();
      await finish.promise;
      response.end("done");
    };
    const { server, baseUrl } = await startServer({}, { fallback: fallback as never });
    const reply = ask(version, `${baseUrl}/page`, {
      headers: version === "HTTP/2" ? {} : { connection: "keep-alive" },
    });
    await began.promise;
    const closed = server.close({ graceMs: 60_000 });
    finish.resolve();
    expect((await reply).text).toBe("begun done");
    await closed;
  });

  it("is cut off after the grace period", async () => {
    const began = signalled();
    const fallback = (_: IncomingMessage, response: ServerResponse): void => {
      response.write("begun");
      began.resolve();
    };
    const { server, baseUrl } = await startServer({}, { fallback });
    const reply = ask(version, `${baseUrl}/page`).catch(String);
    await began.promise;
    await server.close({ graceMs: 0 });
    expect(await reply).toMatch(/Error/);
  });

  it.each(VERSIONS)("tells a listener that HEAD has been answered, over %s", async (version) => {
    const closed = signalled();
    const fallback = (_: IncomingMessage, response: ServerResponse): void => {
      response.on("close", () => closed.resolve()).flushHeaders();
    };
    const { baseUrl } = await startServer({}, { fallback });
    expect((await ask(version, baseUrl, { method: "HEAD" })).status).toBe(200);
    await closed.promise;
  });

  it("works next to the health probes, which report a shutdown", async () => {
    const { server, baseUrl } = await startServer({}, { fallback: { fetch: () => new Response("page") } });
    const health = addHealth(server, { probes: true });
    const probe = async (path: string, method = "GET"): Promise<unknown> => {
      const { status, text } = await ask(version, baseUrl + path, { method });
      return [status, text];
    };
    expect(await probe("/healthz")).toEqual([200, "alive\n"]);
    expect(await probe("/readyz")).toEqual([200, "serving\n"]);
    expect(await probe("/readyz", "HEAD")).toEqual([200, ""]);
    expect(await probe("/readyz?service=greet.v1.GreetService")).toEqual([200, "serving\n"]);
    expect(await probe("/readyz?service=nothing")).toEqual([404, 'there is no service "nothing"\n']);
    expect((await probe("/readyz", "POST")) as unknown[]).toContain(405);
    expect(await probe("/page")).toEqual([200, "page"]);
    health.shutdown();
    expect(await probe("/healthz")).toEqual([200, "alive\n"]);
    expect(await probe("/readyz")).toEqual([503, "not_serving\n"]);
  });
});

it.each<[shape: string, fallback: FallbackApplication]>([
  ["fetch", { fetch: (request) => new Response(`${new URL(request.url).host} ${request.headers.get("host")}`) }],
  ["node:http", ({ headers: { host } }, response) => response.end(`${host} ${host}`)],
])(
  "receives the host of a whole URL in the request line instead of the header, in the shape of %s",
  async (_, fallback) => {
    const { port } = await startServer({}, { fallback });
    for (const scheme of ["http", "HTTPS", "ws"]) {
      const socket = await openSocket(port);
      socket.write(`GET ${scheme}://b.test:8080/page HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n`);
      expect(await text(socket)).toContain("b.test:8080 b.test:8080");
    }
  },
);

it("refuses a host that would change the path of a URL", async () => {
  const fallback = { fetch: ({ url }: Request) => new Response(new URL(url).pathname) };
  const { baseUrl } = await startServer({}, { fallback });
  for (const host of ["a/admin?", "a#", "user@a", "a\\b", "a:b"]) {
    const { status, text } = await ask("HTTP/1.1", `${baseUrl}/page`, { headers: { host } });
    expect([status, text]).toEqual([400, expect.stringContaining("the header host must be a host")]);
  }
  for (const host of ["a", "[::1]", "[::1]:80", "1.2.3.4:8080", "a_b.example:"]) {
    const { status, text } = await ask("HTTP/1.1", `${baseUrl}/page`, { headers: { host } });
    expect([status, text]).toEqual([200, "/page"]);
  }
});

it("refuses methods over HTTP/2 that node:http cannot receive", async () => {
  const { baseUrl } = await startServer({}, { fallback: (_, response) => void response.end("fallback") });
  expect(await ask("HTTP/2", baseUrl, { method: "NONSENSE" })).toMatchObject({
    status: 501,
    text: 'the method "NONSENSE" is not supported\n',
  });
  const session = connect(baseUrl);
  const stream = session.request({ ":method": "CONNECT", ":authority": "a:1" });
  const [{ ":status": status }] = await once(stream, "response");
  expect(status).toBe(501);
  session.destroy();
});

it("receives the address that a trusted proxy reports, in the shape of fetch", async () => {
  const fallback = { fetch: (_: Request, { peer }: { peer?: { address?: string } }) => new Response(peer?.address) };
  const { baseUrl } = await startServer(
    {},
    { fallback: fallback as never, trustProxy: { addresses: ["127.0.0.1"] } as never },
  );
  for (const version of VERSIONS) {
    const { text } = await ask(version, baseUrl, { headers: { "x-forwarded-for": "203.0.113.7" } });
    expect(text).toBe("203.0.113.7");
  }
});

it("serves the probes of a router that is mounted in Express, and passes other paths on", async () => {
  const router = createRouter().add(GreetServiceDef, greeter);
  addHealth(router, { probes: { live: "/live", ready: "/ready" } });
  const app = express()
    .use(nodeHandler(router))
    .get("/other", (_, response) => void response.send("other"));
  const { baseUrl } = await startServer({}, { fallback: app });
  expect((await ask("HTTP/1.1", `${baseUrl}/live`)).text).toBe("alive\n");
  expect((await ask("HTTP/1.1", `${baseUrl}/ready`)).text).toBe("serving\n");
  expect((await ask("HTTP/2", `${baseUrl}/other`)).text).toBe("other");
});

it.runIf(hasOpenssl)("lets a fallback see that the connection is encrypted", async () => {
  const { server } = sharedCertificates();
  const app = express().get("/", (request, response) => void response.send(`${request.protocol} ${request.secure}`));
  const { baseUrl } = await startServer({}, { fallback: app, tls: server });
  const session = connect(baseUrl, { rejectUnauthorized: false });
  const stream = session.request({ ":path": "/" }).setEncoding("utf8");
  expect((await stream.toArray()).join("")).toBe("https true");
  session.close();
});

it.each([{}, "page", { fetch: "page" }])("refuses %j", (fallback) => {
  expect(() => createServer({ fallback: fallback as never })).toThrow("fallback must be a function");
});

it.each([{ live: "healthz" }, { ready: "/a?b" }, { live: "/a", ready: "/a" }])("refuses the probes %j", (probes) => {
  expect(() => addHealth(createRouter(), { probes })).toThrow(TypeError);
});

describe("a fallback over a raw connection of HTTP/1.1", () => {
  /** Starts a server with a fallback, and connects to it. */
  async function open(fallback: FallbackApplication) {
    const { port } = await startServer({}, { fallback });
    const socket = await openSocket(port);
    return { socket, received: () => text(socket) };
  }
  const hello = (_: IncomingMessage, response: ServerResponse): void => {
    response.setHeader("connection", "close").end("hello");
  };

  it("answers before the first byte of a body", async () => {
    const { socket } = await open((_, response) => void response.writeHead(413).end("too large"));
    socket.write("POST /page HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n");
    const [answer] = await once(socket, "data");
    expect(String(answer)).toMatch(/^HTTP\/1\.1 413 /);
  });

  it("answers a client of HTTP/1.0 without a host", async () => {
    const { socket, received } = await open(hello);
    socket.write("GET /page HTTP/1.0\r\n\r\n");
    expect(await received()).toMatch(/^HTTP\/1\.1 200 .*hello$/s);
  });

  it("is answered wholly to a client that reads slowly, on a connection that ends afterwards", async () => {
    const { socket } = await open((_, response) => void response.end(Buffer.alloc(12 * 1024 * 1024, "x")));
    socket.write("GET /page HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    // Longer than the second in which a client may end its side.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    let bytes = 0;
    for await (const chunk of socket) bytes += (chunk as Buffer).length;
    expect(bytes).toBeGreaterThan(12 * 1024 * 1024);
  });
});
