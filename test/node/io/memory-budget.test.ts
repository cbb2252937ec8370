/** The memory budget of a server: the memory that it counts, the calls that it refuses, and their errors. */
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { Code } from "triple-es";
import { createServer, type NodeTransportOptions } from "triple-es/node";
import { hessian2 } from "triple-es-dubbo/hessian2";
import { describe, expect, it, onTestFinished } from "vitest";
import type { GreetServiceClient, GreetServiceHandler } from "../../../examples/gen/greet/v1/greet_triple.ts";
import type { Collecting } from "../../../runtime/src/connection/collecting.ts";
import { IncomingBody } from "../../../runtime/src/connection/incoming-body.ts";
import { MemoryBudget, MemoryShare } from "../../../runtime/src/connection/memory-budget.ts";
import type { Stream } from "../../../runtime/src/http2/stream.ts";
import {
  arriving,
  connectGreeter,
  failureOf,
  greetings,
  openTransport,
  signalled,
  startServer,
} from "../../support/server.ts";
import { createShopClient, ShopDef, shop } from "../../support/shop.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** A connection that can end no exchange. */
const ACTIVE = { reclaim: () => {} };

describe("a memory budget", () => {
  it("refuses what does not fit into its larger half, and takes small amounts until it is full", () => {
    const budget = new MemoryBudget(MIB);
    const large = new MemoryShare(budget, ACTIVE);
    expect(large.take(512 * KIB + 1)).toBe(false);
    expect(large.take(512 * KIB)).toBe(true);
    expect(large.take(1)).toBe(false);
    const small = Array.from({ length: 33 }, () => new MemoryShare(budget, ACTIVE));
    expect(small.map((share) => share.take(16 * KIB)).lastIndexOf(true)).toBe(31);
    expect(budget.held).toBe(MIB);
    large.release(512 * KIB);
    expect(small[0]?.take(400 * KIB)).toBe(false);
    for (const share of small) share.close();
    expect(budget.held).toBe(0);
    expect(large.take(512 * KIB)).toBe(true);
  });

  it("bounds the memory that chunks of uploads keep beyond the counted bytes", async () => {
    const budget = new MemoryBudget(256 * MIB);
    const share = new MemoryShare(budget, ACTIVE);
    const stream = { consumed: () => {}, store: () => {} } as unknown as Stream;
    const collecting = {} as Collecting;
    const bodies = Array.from({ length: 40 }, () => new IncomingBody(stream, [], collecting, () => {}, share));
    for (let round = 0; round < 64; round++) {
      for (const body of bodies) body.push(new Uint8Array(64 * KIB).subarray(0, 16 * KIB));
    }
    expect(budget.held).toBe(40 * MIB);
    const memory = new Set<ArrayBufferLike>();
    for (const body of bodies) {
      body.end();
      for await (const chunk of body) memory.add(chunk.buffer);
    }
    const kept = [...memory].reduce((sum, { byteLength }) => sum + byteLength, 0);
    expect(kept).toBeLessThanOrEqual((40 + 48) * MIB);
  });

  it("releases the memory of a closed connection, and grants it no more", () => {
    const budget = new MemoryBudget(MIB);
    const share = new MemoryShare(budget, ACTIVE);
    share.take(100);
    share.close();
    share.release(100);
    share.close();
    expect([budget.held, share.take(1)]).toEqual([0, false]);
  });

  it("ends stalled exchanges of all connections that hold memory before it refuses an amount", () => {
    const budget = new MemoryBudget(MIB);
    const asked = new Set<number>();
    const stalled = 5;
    const shares = Array.from({ length: 8 }, (_, index) => {
      const share = new MemoryShare(budget, {
        reclaim() {
          asked.add(index);
          if (index === stalled) share.release(64 * KIB);
        },
      });
      return share;
    });
    for (const share of shares) expect(share.take(64 * KIB)).toBe(true);
    const next = new MemoryShare(budget, ACTIVE);
    expect(next.take(64 * KIB)).toBe(true);
    expect(asked).toContain(stalled);
    expect(next.take(64 * KIB)).toBe(false);
    expect(asked.size).toBe(7 + 1);
  });

  it("starts calls in separate turns while memory is short, and none of a refused connection", async () => {
    const budget = new MemoryBudget(MIB);
    const [holder, refused, other] = [0, 1, 2].map(() => new MemoryShare(budget, ACTIVE)) as [
      MemoryShare,
      MemoryShare,
      MemoryShare,
    ];
    holder.take(500 * KIB);
    refused.take(100 * KIB);
    expect(budget.short).toBe(true);
    const events: string[] = [];
    for (const [name, share] of Object.entries({ refused, other })) {
      share.admit(
        () => events.push(`${name} starts`),
        (reason) => events.push(`${name}: ${reason.code}`),
      );
    }
    expect(events).toEqual([]);
    await expect.poll(() => events.length).toBe(2);
    expect(events).toEqual([`refused: ${Code.Unavailable}`, "other starts"]);
    holder.close();
    refused.admit(
      () => events.push("refused starts"),
      () => {},
    );
    await expect.poll(() => events.at(-1)).toBe("refused starts");
  });
});

describe("a server whose budget is used up", () => {
  const options = { maxMessageBytes: 64 * KIB, maxBufferedBytes: MIB };
  const client = { maxMessageBytes: 4 * MIB, compressions: [] };

  it.each([
    ["grpc", "2"],
    ["http-rpc", "2"],
    ["http-rpc", "1.1"],
  ] as const)(
    "answers %s over HTTP/%s that it is unavailable, and small calls as ever",
    async (protocol, httpVersion) => {
      const { baseUrl } = await startServer({ greet: ({ name }) => ({ greeting: name || "x".repeat(MIB) }) }, options);
      const greeter = connectGreeter(baseUrl, { protocol, httpVersion, ...client });
      const error = await failureOf(greeter.greet({}));
      expect([error.code, error.rawMessage]).toEqual([
        Code.Unavailable,
        expect.stringContaining("too much unread data"),
      ]);
      expect((await greeter.greet({ name: "Ada" })).greeting).toBe("Ada");
    },
  );

  it("resets a stream of messages that are too large for it", async () => {
    const handler = {
      async *greetEach() {
        yield { greeting: "x" };
        yield { greeting: "x".repeat(MIB) };
      },
    };
    const { baseUrl } = await startServer(handler, options);
    const error = await failureOf(connectGreeter(baseUrl, client).greetEach({}));
    expect(error.code).toBe(Code.ResourceExhausted);
  });

  it("accepts 300 uploads one after the other, because none is stored for longer than its call", async () => {
    const { baseUrl } = await startServer({}, options);
    for (const protocol of ["grpc", "http-rpc"] as const) {
      const greeter = connectGreeter(baseUrl, { protocol });
      for (let i = 0; i < 150; i++) await greeter.greet({ name: "x".repeat(60 * KIB) });
    }
  });

  it("accepts 300 messages of streams one after the other, because none is counted for longer than it is read", async () => {
    const { baseUrl } = await startServer({}, options);
    const greeter = connectGreeter(baseUrl);
    for (let i = 0; i < 30; i++) {
      const names = Array<string>(10).fill("x".repeat(60 * KIB));
      const received = greeter.greetOnArrival(arriving(...names));
      // Every second stream is left in the middle of a message.
      if (i % 2 === 0) expect(await greetings(received)).toHaveLength(10);
      else for await (const _ of received) break;
    }
  });
});

describe("what compressed messages inflate to counts", () => {
  const options = { maxMessageBytes: 64 * KIB, maxBufferedBytes: 256 * KIB };
  const name = "x".repeat(60 * KIB);

  /** Greets with the length of a name, after `release` or the third call. `begun` counts the calls. */
  function waiting() {
    const held = signalled();
    const calls = { begun: 0 };
    const greet = async ({ name }: { readonly name: string }) => {
      calls.begun++;
      if (calls.begun > 2) held.resolve();
      await held.promise;
      return { greeting: `${name.length}` };
    };
    const handler: Partial<GreetServiceHandler> = {
      greet,
      async *greetEach({ names: [name = ""] }) {
        yield await greet({ name });
      },
      async *greetOnArrival(requests) {
        for await (const request of requests) yield await greet(request);
      },
    };
    return { handler, calls, release: held.resolve };
  }

  it.each<[string, NodeTransportOptions["protocol"], "2" | "1.1", (greeter: GreetServiceClient) => Promise<unknown>]>([
    ["calls of gRPC", "grpc", "2", (greeter) => greeter.greet({ name })],
    ["calls of sub-protocol A", "http-rpc", "2", (greeter) => greeter.greet({ name })],
    ["calls over HTTP/1.1", "http-rpc", "1.1", (greeter) => greeter.greet({ name })],
    ["calls that are answered by a stream", "grpc", "2", (greeter) => greetings(greeter.greetEach({ names: [name] }))],
    ["streams", "grpc", "2", (greeter) => greetings(greeter.greetOnArrival(arriving(name, name)))],
  ])("as long as they are held, in %s", async (_, protocol, httpVersion, call) => {
    const { handler, calls, release } = waiting();
    const { baseUrl } = await startServer(handler, options);
    const greeter = connectGreeter(baseUrl, { protocol, httpVersion, compression: "gzip" });
    const first = [call(greeter), call(greeter)];
    await expect.poll(() => calls.begun).toBe(2);
    const error = await failureOf(call(greeter));
    expect([error.code, error.rawMessage]).toEqual([Code.Unavailable, expect.stringContaining("too much unread data")]);
    release();
    await Promise.all(first);
    for (let i = 0; i < 10; i++) await call(greeter);
  });

  it("no longer in a stream that waits for its next message", async () => {
    const { baseUrl } = await startServer({}, options);
    const greeter = connectGreeter(baseUrl, { compression: "gzip" });
    const { promise, resolve } = signalled();
    async function* open() {
      yield { name };
      await promise;
    }
    const streams = Array.from({ length: 5 }, () => greeter.greetOnArrival(open())[Symbol.asyncIterator]());
    for (const stream of streams) expect((await stream.next()).done).toBe(false);
    resolve();
    for (const stream of streams) expect((await stream.next()).done).toBe(true);
  });
});

it("answers gRPC beyond its budget with trailers only", async () => {
  const options = { maxMessageBytes: 64 * KIB, maxBufferedBytes: MIB };
  const { baseUrl } = await startServer({ greet: () => ({ greeting: "x".repeat(MIB) }) }, options);
  const session = connectHttp2(baseUrl);
  onTestFinished(() => session.destroy());
  const head = { ":method": "POST", ":path": "/greet.v1.GreetService/Greet", "content-type": "application/grpc+proto" };
  const stream = session.request(head).end(new Uint8Array(5));
  const [headers] = await once(stream, "response");
  expect(headers).toMatchObject({ ":status": 200, "content-type": "application/grpc+proto", "grpc-status": "14" });
  expect((await once(stream.resume(), "end")).length).toBe(0);
});

it("answers wrapped messages beyond its budget with the reason", async () => {
  const [contentType, options] = ["application/triple+wrapper", { serializations: [hessian2] }] as const;
  const { server, baseUrl } = await startServer({}, { ...options, maxMessageBytes: 64 * KIB, maxBufferedBytes: MIB });
  server.add(ShopDef, { ...shop, sayHi: () => "x".repeat(MIB) });
  const transport = openTransport(baseUrl, { ...options, wrapperContentType: contentType, compressions: [] });
  expect((await failureOf(createShopClient(transport).sayHi("Ada", "Hi"))).rawMessage).toContain(
    "too much unread data",
  );
});

it.each([0, -1, Number.NaN, 127 * KIB])(
  "a budget of %i bytes, which holds no two messages, is refused",
  (maxBufferedBytes) => {
    expect(() => createServer({ maxMessageBytes: 64 * KIB, maxBufferedBytes })).toThrow(RangeError);
    expect(() => createServer({ maxBufferedBytes })).toThrow("maxBufferedBytes must be");
  },
);
