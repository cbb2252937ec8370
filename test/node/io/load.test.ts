/** High load: large messages, many calls, and readers that are slower than their writers. */
import { Code } from "triple-es";
import { describe, expect, it } from "vitest";
import { pause } from "../../support/pause.ts";
import { connectGreeter, failureOf, greetings, openSocket, signalled, startServer } from "../../support/server.ts";

const TRANSPORTS = [
  { protocol: "grpc", httpVersion: "2" },
  { protocol: "http-rpc", httpVersion: "1.1" },
  { protocol: "http-rpc", httpVersion: "2" },
] as const;
const MIB = 1024 * 1024;

describe.each(TRANSPORTS)("over $protocol, HTTP/$httpVersion", (options) => {
  it("messages of 3 MiB go both ways", async () => {
    const { baseUrl } = await startServer({ greet: ({ name }) => ({ greeting: name }) });
    const name = "x".repeat(3 * MIB);
    expect((await connectGreeter(baseUrl, options).greet({ name })).greeting === name).toBe(true);
  });

  it("a request over the server's limit fails the call, and the next one works", async () => {
    const { baseUrl } = await startServer();
    const greeter = connectGreeter(baseUrl, options);
    const error = await failureOf(greeter.greet({ name: "x".repeat(5 * MIB) }));
    expect(error.code).toBe(Code.ResourceExhausted);
    // HTTP RPC over HTTP/2 does not announce a length, so the rest is not read; JSON adds brackets.
    expect(error.rawMessage).toMatch(
      /^message of (52428\d\d|at least [45]\d{6}) bytes is larger than the limit of 4194304 bytes/,
    );
    expect((await greeter.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
  });

  it("a response over the client's limit fails the call, and the next one works", async () => {
    const { baseUrl } = await startServer({ greet: ({ name }) => ({ greeting: name || "x".repeat(3 * MIB) }) });
    const greeter = connectGreeter(baseUrl, { ...options, maxMessageBytes: MIB });
    const error = await failureOf(greeter.greet({}));
    expect(error.code).toBe(Code.ResourceExhausted);
    expect(error.rawMessage).toMatch(/^message of \d+ bytes inflates to more than the limit of 1048576 bytes/);
    expect((await greeter.greet({ name: "Ada" })).greeting).toBe("Ada");
  });

  it("250 calls at a time are all answered", async () => {
    const { baseUrl } = await startServer({
      greet: async ({ name }) => {
        await pause(5);
        return { greeting: name };
      },
    });
    const greeter = connectGreeter(baseUrl, options);
    const names = Array.from({ length: 250 }, (_, i) => String(i));
    const answers = await Promise.all(names.map((name) => greeter.greet({ name })));
    expect(answers.map(({ greeting }) => greeting)).toEqual(names);
  });
});

it.each(["grpc", "http-rpc"] as const)(
  "100 MB of requests on one connection are all answered, over %s",
  async (protocol) => {
    const { baseUrl } = await startServer({ greet: ({ name }) => ({ greeting: String(name.length) }) });
    const greeter = connectGreeter(baseUrl, { protocol, httpVersion: "2", maxConnections: 1 });
    const name = "x".repeat(4_000_000);
    const answers = await Promise.all(Array.from({ length: 25 }, () => greeter.greet({ name })));
    expect(new Set(answers.map(({ greeting }) => greeting))).toEqual(new Set(["4000000"]));
  },
);

it("a client that keeps sending a refused body loses its HTTP/1.1 connection", async () => {
  const { port } = await startServer({}, { maxMessageBytes: MIB });
  const socket = await openSocket(port);
  socket.resume();
  socket.write("POST /greet.v1.GreetService/Greet HTTP/1.1\r\nhost: a\r\n");
  socket.write(`content-type: application/json\r\ncontent-length: ${1024 * MIB}\r\n\r\n`);
  const chunk = Buffer.alloc(MIB);
  let written = 0;
  for (; written < 256 && !socket.destroyed; written++) await new Promise((resolve) => socket.write(chunk, resolve));
  expect(socket.destroyed).toBe(true);
  expect(written).toBeGreaterThan(64);
});

describe("streams", () => {
  /** Limit on data between a writer and its reader: windows, socket buffers and queues, but not the whole stream. */
  const MAX_AHEAD = 64;
  const CHUNK = "x".repeat(64 * 1024);

  /** Reads slowly until the writer has had time to send far ahead, and returns the maximum distance. */
  async function mostAhead(received: () => number, sent: () => number, next: () => Promise<unknown>): Promise<number> {
    let ahead = 0;
    for (let i = 0; i < 10; i++) {
      await next();
      await pause(20);
      ahead = Math.max(ahead, sent() - received());
    }
    return ahead;
  }

  it("have backpressure from a slow reader of responses", async () => {
    let sent = 0;
    const { baseUrl } = await startServer({
      async *greetEach() {
        for (; sent < 1000; sent++) yield { greeting: CHUNK };
      },
    });
    let received = 0;
    // With compression, these messages would be tiny.
    const responses = connectGreeter(baseUrl, { compressions: [] }).greetEach({})[Symbol.asyncIterator]();
    const next = async (): Promise<unknown> => {
      received++;
      return responses.next();
    };
    const ahead = await mostAhead(
      () => received,
      () => sent,
      next,
    );
    expect(ahead).toBeGreaterThan(0);
    expect(ahead).toBeLessThan(MAX_AHEAD);
    await responses.return?.();
  });

  it("have backpressure from a slow handler", async () => {
    let sent = 0;
    let received = 0;
    const ahead = signalled<number>();
    const { baseUrl } = await startServer({
      greetTogether: async (requests) => {
        const iterator = requests[Symbol.asyncIterator]();
        const next = async (): Promise<unknown> => {
          received++;
          return iterator.next();
        };
        ahead.resolve(
          await mostAhead(
            () => received,
            () => sent,
            next,
          ),
        );
        await iterator.return?.();
        return { greeting: "enough" };
      },
    });
    const requests = (async function* () {
      for (; sent < 1000; sent++) yield { name: CHUNK };
    })();
    expect((await connectGreeter(baseUrl).greetTogether(requests)).greeting).toBe("enough");
    expect(await ahead.promise).toBeGreaterThan(0);
    expect(await ahead.promise).toBeLessThan(MAX_AHEAD);
  });

  it("deliver 10,000 messages completely and in order", async () => {
    const { baseUrl } = await startServer({
      async *greetEach() {
        for (let i = 0; i < 10_000; i++) yield { greeting: String(i) };
      },
    });
    const received = await greetings(connectGreeter(baseUrl).greetEach({}));
    expect(received).toEqual(Array.from({ length: 10_000 }, (_, i) => String(i)));
  });

  it("do not block other calls on their connection while they stand still", async () => {
    const { baseUrl } = await startServer({
      async *greetEach() {
        for (let i = 0; i < 100; i++) yield { greeting: CHUNK };
      },
    });
    const greeter = connectGreeter(baseUrl, { compressions: [] });
    const unread = Array.from({ length: 8 }, () => greeter.greetEach({})[Symbol.asyncIterator]());
    await Promise.all(unread.map((stream) => stream.next()));
    expect((await greeter.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    await Promise.all(unread.map((stream) => stream.return?.()));
  });

  it("end with resource_exhausted at a message over the limit, after those before it", async () => {
    const { baseUrl } = await startServer({
      async *greetEach() {
        yield { greeting: "small" };
        yield { greeting: "x".repeat(2 * MIB) };
      },
    });
    const received: string[] = [];
    const reading = (async () => {
      const greeter = connectGreeter(baseUrl, { maxMessageBytes: MIB });
      for await (const { greeting } of greeter.greetEach({})) received.push(greeting);
    })();
    expect((await failureOf(reading)).code).toBe(Code.ResourceExhausted);
    expect(received).toEqual(["small"]);
  });

  it("100 at a time carry their own messages", async () => {
    const { baseUrl } = await startServer();
    const greeter = connectGreeter(baseUrl);
    const names = Array.from({ length: 100 }, (_, i) => [`a${i}`, `b${i}`]);
    const all = await Promise.all(names.map((pair) => greetings(greeter.greetEach({ names: pair }))));
    expect(all).toEqual(names.map((pair) => pair.map((name) => `Hello, ${name}!`)));
  });
});
