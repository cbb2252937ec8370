/**
 * The asynchronous context (AsyncLocalStorage) of calls over HTTP/2, over cleartext and TLS: on a server it is separate
 * for each call, and in a client it is that of the caller.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createInMemoryTransport, createRouter, type Interceptor } from "triple-es";
import { type Balancer, consistentHash, fixed, type ReadyEndpoint } from "triple-es/discovery";
import { createTransport } from "triple-es/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { createGreetServiceClient, GreetServiceDef } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { type Certificates, hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import {
  block,
  Flag,
  frame,
  greet,
  RawConnection,
  type RawStream,
  Reset,
  request,
  reset,
  settings,
  startRawServer,
  Type,
} from "../../support/frames.ts";
import { arriving, connectGreeter, greeter, greetings, startServer } from "../../support/server.ts";

const ADA = Buffer.from([0, 0, 0, 0, 5, 0x0a, 3, 0x41, 0x64, 0x61]);
const storage = new AsyncLocalStorage<unknown>();
// Node follows promises from the first use on.
storage.run("", () => {});

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function contexts(certificates?: Certificates): void {
  const overTls = certificates !== undefined;
  const tls = certificates && { ca: certificates.ca };

  /** Sends three requests in one chunk, and then three more one after the other. Each must be answered. */
  async function sendAll(port: number, bytesOf: (id: number) => Buffer): Promise<void> {
    const connection = await RawConnection.open(port, settings(), overTls);
    await connection.frame(Type.settings);
    connection.write(Buffer.concat([1, 3, 5].map(bytesOf)));
    for (const id of [1, 3, 5]) await connection.frame(Type.headers, id);
    for (const id of [7, 9, 11]) {
      connection.write(bytesOf(id));
      await connection.frame(Type.headers, id);
    }
  }

  it.each(["Greet", "GreetEach", "GreetTogether", "GreetOnArrival"])(
    "of a server is separate for each call of %s, also for calls of one chunk",
    async (method) => {
      const seen: unknown[] = [];
      const enter: Interceptor = (next) => (request) => {
        seen.push(storage.getStore());
        storage.enterWith("another call");
        return next(request);
      };
      const { port } = await startServer({}, { interceptors: [enter], tls: certificates?.server });
      await sendAll(port, (id) =>
        Buffer.concat([
          frame(Type.headers, Flag.endHeaders, id, request(method)),
          frame(Type.data, Flag.endStream, id, ADA),
        ]),
      );
      expect(seen).toEqual(Array(6).fill(undefined));
    },
  );

  it("of a handler is the one in which an interceptor called next, for all messages and the end of its stream", async () => {
    const seen = new Set<unknown>();
    let ends = 0;
    const see = (): unknown => seen.add(storage.getStore());
    const { baseUrl } = await startServer(
      {
        async *greetEach({ names }) {
          try {
            for (const name of names) yield { greeting: `${see() && name}` };
          } finally {
            see();
            ends++;
          }
        },
        async *greetOnArrival(requests) {
          for await (const { name } of requests) yield { greeting: `${see() && name}` };
          see();
        },
      },
      { interceptors: [(next) => (request) => storage.run("set", () => next(request))], tls: certificates?.server },
    );
    const client = connectGreeter(baseUrl, { tls });
    expect(await greetings(client.greetEach({ names: ["x", "y", "z"] }))).toEqual(["x", "y", "z"]);
    expect(await greetings(client.greetOnArrival(arriving("x", "y")))).toEqual(["x", "y"]);
    for await (const _ of client.greetEach({ names: ["x", "y", "z"] })) break;
    await expect.poll(() => ends).toBe(2);
    expect(seen).toEqual(new Set(["set"]));
  });

  it("of a handler that is a synchronous generator is that of its interceptor too", async () => {
    const seen = new Set<unknown>();
    let ends = 0;
    const { baseUrl } = await startServer(
      {
        *greetEach({ names }) {
          try {
            for (const name of names) yield { greeting: `${seen.add(storage.getStore()) && name}` };
          } finally {
            seen.add(storage.getStore());
            ends++;
          }
        },
      },
      { interceptors: [(next) => (request) => storage.run("set", () => next(request))], tls: certificates?.server },
    );
    const client = connectGreeter(baseUrl, { tls });
    expect(await greetings(client.greetEach({ names: ["x", "y", "z"] }))).toEqual(["x", "y", "z"]);
    for await (const _ of client.greetEach({ names: Array(200).fill("x".repeat(10_000)) })) break;
    await expect.poll(() => ends).toBe(2);
    expect(seen).toEqual(new Set(["set"]));
  });

  it("of a server is separate for each request of a fallback", async () => {
    const seen: unknown[] = [];
    const fallback = {
      fetch: (): Response => {
        seen.push(storage.getStore());
        storage.enterWith("another request");
        return new Response("ok");
      },
    };
    const { port } = await startServer({}, { fallback, tls: certificates?.server });
    const head = block([":method", "GET"], [":scheme", "http"], [":path", "/x"], [":authority", "127.0.0.1"]);
    await sendAll(port, (id) => frame(Type.headers, Flag.endHeaders | Flag.endStream, id, head));
    expect(seen).toEqual(Array(6).fill(undefined));
  });

  it("of a client is the caller's, in callbacks and streams, on a new connection and on one in use", async () => {
    const { baseUrl } = await startServer({}, { tls: certificates?.server });
    const client = connectGreeter(baseUrl, { tls });
    const calls = ["a", "b", "c"].map((name) =>
      storage.run(name, async () => {
        const seen: unknown[] = [];
        const see = (): unknown => seen.push(storage.getStore());
        await client.greet({ name }, { onHeaders: see, onTrailers: see });
        see();
        for await (const _ of client.greetOnArrival(arriving("x", "y"), { onHeaders: see, onTrailers: see })) see();
        see();
        return seen;
      }),
    );
    expect(await Promise.all(calls)).toEqual(["a", "b", "c"].map((name) => Array(8).fill(name)));
  });

  it("of a client is the caller's in a stream of requests, also after it has waited for its server", async () => {
    const { baseUrl } = await startServer({}, { tls: certificates?.server });
    const client = connectGreeter(baseUrl, { tls, compressions: [] });
    const calls = ["a", "b"].map((name) =>
      storage.run(name, async () => {
        const seen = new Set<unknown>();
        const requests = async function* () {
          for (let i = 0; i < 30; i++) {
            seen.add(storage.getStore());
            yield { name: "x".repeat(40_000) };
          }
        };
        await client.greetTogether(requests());
        return seen;
      }),
    );
    expect(await Promise.all(calls)).toEqual([new Set(["a"]), new Set(["b"])]);
  });

  it("of a client is the caller's after a transparent retry", async () => {
    const server = await startRawServer(
      (stream) => (server.streams.length <= 2 ? reset(stream, Reset.refused) : greet(stream)),
      settings(),
      certificates?.server,
    );
    const client = connectGreeter(server.baseUrl, { tls });
    const seen = await Promise.all(
      ["a", "b"].map((name) =>
        storage.run(name, async () => {
          const stores: unknown[] = [];
          await client.greet({}, { onHeaders: () => stores.push(storage.getStore()) });
          return [...stores, storage.getStore()];
        }),
      ),
    );
    expect(seen).toEqual([
      ["a", "a"],
      ["b", "b"],
    ]);
  });

  it("of a client is the caller's in the hook of transparent retries", async () => {
    const server = await startRawServer(
      (stream) => {
        const { length } = server.streams;
        if (length > 1 && length <= 5) reset(stream, Reset.refused);
        else greet(stream);
      },
      settings(),
      certificates?.server,
    );
    const stores: unknown[] = [];
    const client = connectGreeter(server.baseUrl, {
      tls,
      onTransparentRetry: () => stores.push(storage.getStore()),
    });
    // The first call opens the connection. The others are sent in the turn in which they are made.
    await client.greet({});
    await Promise.all(["a", "b"].map((name) => storage.run(name, () => client.greet({}))));
    expect(stores).toHaveLength(4);
    expect(stores.filter((store) => store === "a")).toHaveLength(2);
    expect(stores.filter((store) => store === "b")).toHaveLength(2);
  });

  const see = (stores: unknown[]): string => {
    stores.push(storage.getStore());
    return "key";
  };
  const balancers: Record<string, (stores: unknown[]) => Balancer> = {
    "the picker of a balancer": (stores) => (ready) => () => {
      see(stores);
      return ready[0] as ReadyEndpoint;
    },
    "the key of consistentHash": (stores) => consistentHash(() => see(stores)),
  };
  it.each(Object.keys(balancers))(
    "of a client is the caller's in %s, for each endpoint that is picked",
    async (name) => {
      let refusals = 0;
      const answer = (stream: RawStream): void => (refusals-- > 0 ? reset(stream, Reset.refused) : greet(stream));
      const servers = await Promise.all(["a", "b"].map(() => startRawServer(answer, settings(), certificates?.server)));
      const stores: unknown[] = [];
      const transport = createTransport({
        protocol: "grpc",
        tls,
        resolver: fixed(servers.map(({ baseUrl }) => new URL(baseUrl).host)),
        balancer: balancers[name]?.(stores),
      });
      onTestFinished(() => transport.close());
      const client = createGreetServiceClient(transport);
      for (let call = 0; call < 4; call++) await client.greet({});
      stores.length = 0;
      refusals = 2;
      await storage.run("a", () => client.greet({}));
      expect(stores.length).toBeGreaterThan(1);
      expect(new Set(stores)).toEqual(new Set(["a"]));
    },
  );

  it("of the call that has opened a connection is not kept as long as the connection", async () => {
    const { baseUrl } = await startServer({}, { tls: certificates?.server });
    const client = connectGreeter(baseUrl, { tls });
    const store = await (async () => {
      const held = { name: "a store" };
      await storage.run(held, () => client.greet({ name: "Ada" }));
      return new WeakRef(held);
    })();
    await expect
      .poll(
        () => {
          collectGarbage();
          // Not the object itself, which the error of a failed attempt would keep.
          return store.deref() === undefined;
        },
        { timeout: 20_000 },
      )
      .toBe(true);
    expect((await client.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
  });
}

describe("the asynchronous context", () => contexts());

it("in memory, the asynchronous context of a stream of requests is that of the caller, not of the handler", async () => {
  const interceptor: Interceptor = (next) => (request) => storage.run("server", () => next(request));
  const router = createRouter({ interceptors: [interceptor] }).add(GreetServiceDef, greeter);
  const client = createGreetServiceClient(createInMemoryTransport(router));
  const seen = new Set<unknown>();
  const requests = async function* () {
    try {
      for (const name of ["x", "y", "z"]) {
        seen.add(storage.getStore());
        yield { name };
      }
    } finally {
      seen.add(storage.getStore());
    }
  };
  await storage.run("caller", async () => {
    expect((await client.greetTogether(requests())).greeting).toBe("Hello, x and y and z!");
    expect(await greetings(client.greetOnArrival(requests()))).toHaveLength(3);
    for await (const _ of client.greetOnArrival(requests())) break;
  });
  await expect.poll(() => seen).toEqual(new Set(["caller"]));
});

describe.skipIf(!hasOpenssl)("over TLS (needs openssl), the asynchronous context", () => {
  if (hasOpenssl) contexts(sharedCertificates());
});
