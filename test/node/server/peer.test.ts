/**
 * The information about a client in a handler: its address, its certificate, and the values that the server derives from
 * its request.
 */
import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import fastify from "fastify";
import {
  createContextKey,
  createContextValues,
  createInMemoryTransport,
  createRouter,
  createServerLogger,
  type HandlerContext,
  type Interceptor,
  type Peer,
} from "triple-es";
import { fastifyRpc } from "triple-es/fastify";
import { createTransport as createFetchTransport, fetchHandler } from "triple-es/fetch";
import { createServer, nodeHandler, type ServerOptions, type TrustProxyOptions } from "triple-es/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { createGreetServiceClient, GreetServiceDef } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import { connectGreeter, failureOf, greeter, startServer } from "../../support/server.ts";

const USER = createContextKey("anonymous", "user");

/** A greeter that records the contexts of its calls. */
function recorder() {
  const contexts: HandlerContext[] = [];
  return {
    contexts,
    handler: {
      greet: (_: unknown, context: HandlerContext) => {
        contexts.push(context);
        return { greeting: context.values.get(USER) };
      },
    },
    last: () => contexts.at(-1)?.peer as Peer,
  };
}

/** Starts a greeter whose peers are recorded. */
async function start(options: ServerOptions = {}) {
  const { handler, last } = recorder();
  return { ...(await startServer(handler, options)), last };
}

describe("the peer of a call", () => {
  it("has the address and port of the client over HTTP/2, HTTP/1.1 and gRPC-Web", async () => {
    const { baseUrl, port, last } = await start();
    await connectGreeter(baseUrl).greet({});
    expect(last()).toEqual({
      address: "127.0.0.1",
      port: expect.any(Number),
      protocol: "h2",
      authority: `127.0.0.1:${port}`,
      tls: undefined,
    });
    expect(last().port).not.toBe(port);
    await connectGreeter(baseUrl, { protocol: "http-rpc" }).greet({});
    expect(last()).toMatchObject({ address: "127.0.0.1", protocol: "h1", authority: `127.0.0.1:${port}` });
    await createGreetServiceClient(createFetchTransport({ baseUrl, protocol: "grpc-web" })).greet({});
    expect(last()).toMatchObject({ address: "127.0.0.1", protocol: "h1", authority: `127.0.0.1:${port}` });
  });

  it("is there for interceptors and the logger, and not on clients", async () => {
    const seen: unknown[] = [];
    const interceptor: Interceptor = (next) => (request) => {
      seen.push(request.context.peer?.address);
      return next(request);
    };
    const logger = createServerLogger(({ clientAddress }) => seen.push(clientAddress));
    const { baseUrl } = await start({ interceptors: [interceptor, logger] });
    await connectGreeter(baseUrl, { interceptors: [interceptor] }).greet({});
    expect(seen).toEqual([undefined, "127.0.0.1", "127.0.0.1"]);
  });

  it("is without an address in memory", async () => {
    const { handler, last } = recorder();
    const router = createRouter().add(GreetServiceDef, { ...greeter, ...handler });
    await createGreetServiceClient(createInMemoryTransport(router)).greet({});
    expect(last()).toEqual({
      address: undefined,
      port: undefined,
      protocol: "h2",
      authority: undefined,
      tls: undefined,
    });
  });

  it.skipIf(!hasOpenssl)("has the verified identity of a client's certificate", async () => {
    const { ca, server, client, named, stranger } = sharedCertificates();
    const { baseUrl, last } = await start({ tls: { ...server, ca, requestCert: true, rejectUnauthorized: false } });
    for (const protocol of ["grpc", "http-rpc"] as const) {
      await connectGreeter(baseUrl, { protocol, tls: { ca, ...named } }).greet({});
      expect(last().tls).toMatchObject({
        version: "TLSv1.3",
        verified: true,
        identity: ["shop.example", "spiffe://example/shop"],
      });
      expect(last().tls?.certificate?.subject).toBe("CN=named");
    }
    await connectGreeter(baseUrl, { tls: { ca, ...client } }).greet({});
    expect(last().tls?.identity).toEqual(["client"]);
    await connectGreeter(baseUrl, { tls: { ca } }).greet({});
    expect(last().tls).toMatchObject({ verified: false, identity: [], certificate: undefined });
    await connectGreeter(baseUrl, { tls: { ca, ...stranger } }).greet({});
    expect(last().tls).toMatchObject({ verified: false, identity: [] });
    expect(last().tls?.certificate?.subject).toBe("CN=stranger");
  });

  it("is that of the server's socket below node:http and node:http2", async () => {
    const { handler, last } = recorder();
    const handle = nodeHandler(createRouter().add(GreetServiceDef, { ...greeter, ...handler }));
    for (const [server, options] of [
      [createHttpServer(handle), { protocol: "http-rpc" }],
      [createHttp2Server(handle), {}],
    ] as const) {
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      onTestFinished(() => void server.close());
      await connectGreeter(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, options).greet({});
      expect(last()).toMatchObject({ address: "127.0.0.1", protocol: "protocol" in options ? "h1" : "h2" });
    }
  });

  it("has the address that the platform passes to a fetch handler", async () => {
    const { handler, last } = recorder();
    const router = createRouter().add(GreetServiceDef, { ...greeter, ...handler });
    const handle = fetchHandler(router, { peer: (_, info: { hostname: string }) => ({ address: info.hostname }) });
    const client = createGreetServiceClient(
      createFetchTransport({
        baseUrl: "https://greeter.example",
        fetch: (input, init) => handle(new Request(input, init), { hostname: "192.0.2.1" }),
      }),
    );
    await client.greet({});
    expect(last()).toMatchObject({ address: "192.0.2.1", authority: "greeter.example" });
  });
});

describe("the address of a client behind proxies", () => {
  const local = { addresses: ["127.0.0.1", "10.0.0.0/8", "2001:db8::/32"] };

  it.each<[string, TrustProxyOptions | undefined, Record<string, string>, string | undefined]>([
    ["is not taken from headers by default", undefined, { "x-forwarded-for": "192.0.2.1" }, "127.0.0.1"],
    ["is that of the connection without the header", local, {}, "127.0.0.1"],
    ["is what a trusted proxy says", local, { "x-forwarded-for": "192.0.2.1" }, "192.0.2.1"],
    ["is not what the client says", local, { "x-forwarded-for": "198.51.100.9, 192.0.2.1" }, "192.0.2.1"],
    ["is found behind several proxies", local, { "x-forwarded-for": "192.0.2.1, 10.1.2.3,2001:db8::7" }, "192.0.2.1"],
    [
      "is not taken from untrusted proxies",
      { addresses: ["10.0.0.1"] },
      { "x-forwarded-for": "192.0.2.1" },
      "127.0.0.1",
    ],
    ["may be the first proxy's own", local, { "x-forwarded-for": "10.1.1.1" }, "10.1.1.1"],
    ["may have a port", local, { "x-forwarded-for": "192.0.2.1:4711" }, "192.0.2.1"],
    ["may be of IPv6, with a port", local, { "x-forwarded-for": "[2001:db9::1]:4711" }, "2001:db9::1"],
    ["may be of IPv4 in IPv6", local, { "x-forwarded-for": "::ffff:192.0.2.1" }, "192.0.2.1"],
    ["is unknown where a proxy does not know it", local, { "x-forwarded-for": "192.0.2.1, unknown" }, undefined],
    ["is not taken from the other header", local, { forwarded: "for=192.0.2.1" }, "127.0.0.1"],
    [
      "is read from forwarded where that is the header",
      { ...local, header: "forwarded" },
      { forwarded: 'for=198.51.100.9, For="[2001:db9::1]:4711";proto=https;by=10.0.0.1', "x-forwarded-for": "1.2.3.4" },
      "2001:db9::1",
    ],
    [
      "is not what a client has put into a host that a proxy quotes",
      { ...local, header: "forwarded" },
      { forwarded: 'for="a, for=192.0.2.1;host="x;for=198.51.100.8,for=198.51.100.9"' },
      "192.0.2.1",
    ],
    [
      "is found after an unclosed quote",
      { ...local, header: "forwarded" },
      { forwarded: 'for=198.51.100.9;host="a, for="[2001:db9::1]:4711"' },
      "2001:db9::1",
    ],
    [
      "is unknown where the last element is malformed",
      { ...local, header: "forwarded" },
      { forwarded: `for=198.51.100.9${",".repeat(3000)} for=192.0.2.1;host="x` },
      undefined,
    ],
    ["is unknown where it is obfuscated", { ...local, header: "forwarded" }, { forwarded: "for=_hidden" }, undefined],
  ])("%s", async (_, trustProxy, headers, address) => {
    const { baseUrl, last } = await start({ trustProxy });
    for (const protocol of ["grpc", "http-rpc"] as const) {
      await connectGreeter(baseUrl, { protocol }, { headers }).greet({});
      expect(last().address).toBe(address);
    }
  });

  it.each<[unknown, string]>([
    [{ addresses: [] }, 'trustProxy takes { addresses: ["10.0.0.0/8"] }'],
    [true, "trustProxy takes"],
    [{ addresses: ["proxy.example"] }, '"proxy.example" is neither an IP address nor a network'],
    [{ addresses: ["10.0.0.0/33"] }, '"10.0.0.0/33" is neither'],
    [{ addresses: ["10.0.0.0/8/8"] }, "is neither"],
    [{ addresses: ["::1"], header: "x-real-ip" }, 'trustProxy.header must be in ["x-forwarded-for","forwarded"]'],
    [{ addresses: ["::1"], heder: "forwarded" }, 'trustProxy: there is no "heder", did you mean "header"?'],
  ])("is refused for the option %j", async (trustProxy, message) => {
    await expect(startServer({}, { trustProxy: trustProxy as TrustProxyOptions })).rejects.toThrow(message);
  });
});

describe("the values of a call", () => {
  it("are refused where they are not a function, as other invalid options are", async () => {
    const values = 1 as never;
    const router = createRouter().add(GreetServiceDef, greeter);
    const message = "values must be a function, not 1";
    expect(() => createServer({ values })).toThrow(message);
    expect(() => nodeHandler(router, { values })).toThrow(message);
    expect(() => fetchHandler(router, { values })).toThrow(message);
    expect(() => fetchHandler(router, { peer: {} as never })).toThrow("peer must be a function, not {}");
    await expect(fastify().register(fastifyRpc, { router, values })).rejects.toThrow(message);
    const trustProxy = { addresses: [] };
    await expect(fastify().register(fastifyRpc, { router, trustProxy })).rejects.toThrow("trustProxy takes");
  });

  it("are created from the head of its request", async () => {
    const { baseUrl } = await start({
      values: ({ path, headers, peer }) =>
        createContextValues().set(USER, `${headers.get("x-user")} of ${peer?.address} calls ${path}`),
    });
    const client = connectGreeter(baseUrl, {}, { headers: { "x-user": "ada" } });
    expect((await client.greet({})).greeting).toBe("ada of 127.0.0.1 calls /greet.v1.GreetService/Greet");
  });

  it("are created from the properties that middleware has added to a request of node:http", async () => {
    const { handler } = recorder();
    const handle = nodeHandler(createRouter().add(GreetServiceDef, { ...greeter, ...handler }), {
      values: (request) => createContextValues().set(USER, (request as IncomingMessage & { user: string }).user),
    });
    const server = createHttpServer((request, response) => handle(Object.assign(request, { user: "ada" }), response));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect((await connectGreeter(baseUrl, { protocol: "http-rpc" }).greet({})).greeting).toBe("ada");
  });

  it("are created from a request of Fastify", async () => {
    const { handler } = recorder();
    const app = fastify();
    app.decorateRequest("user", "");
    app.addHook("onRequest", async (request) => {
      Object.assign(request, { user: "ada" });
    });
    await app.register(fastifyRpc, {
      router: createRouter().add(GreetServiceDef, { ...greeter, ...handler }),
      values: (request) => createContextValues().set(USER, (request as typeof request & { user: string }).user),
    });
    const baseUrl = await app.listen({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => app.close());
    expect((await connectGreeter(baseUrl, { protocol: "http-rpc" }).greet({})).greeting).toBe("ada");
  });

  it("are created from a request and the further arguments of a fetch handler's platform", async () => {
    const { handler } = recorder();
    const handle = fetchHandler(createRouter().add(GreetServiceDef, { ...greeter, ...handler }), {
      values: (request, env: { readonly prefix: string }) =>
        createContextValues().set(USER, env.prefix + request.headers.get("x-user")),
    });
    for (const protocol of [undefined, "grpc-web"] as const) {
      const transport = createFetchTransport({
        baseUrl: "https://greeter.example",
        protocol,
        fetch: (input, init) => handle(new Request(input, init), { prefix: "user " }),
      });
      const client = createGreetServiceClient(transport, { headers: { "x-user": "ada" } });
      expect((await client.greet({})).greeting).toBe("user ada");
    }
  });

  it("are not created for a call that does not read them", async () => {
    let made = 0;
    const { baseUrl } = await startServer(
      {},
      {
        values: () => {
          made += 1;
          return createContextValues();
        },
      },
    );
    await connectGreeter(baseUrl).greet({});
    expect(made).toBe(0);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("no session");
      },
      "no session",
    ],
    ["returns something else", () => ({}) as never, "must return a result of createContextValues"],
    [
      "rejects",
      (async () => Promise.reject(new Error("later"))) as never,
      "must return a result of createContextValues",
    ],
  ])("fail the call, and are reported, if the option %s", async (_, values, message) => {
    const errors: unknown[] = [];
    const { baseUrl } = await start({ values, onError: (error) => errors.push(error) });
    const error = await failureOf(connectGreeter(baseUrl).greet({}));
    expect(error.rawMessage).not.toContain(message);
    expect(errors).toMatchObject([{ message: expect.stringContaining(message) }]);
  });
});
