/** Servers that break the rules of HTTP/2 in ways that Node 20 tells nobody of: calls without a deadline end all the same. */
import { createServer } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { Code } from "triple-es";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { ownEngine } from "../support/engine.ts";
import { block, Flag, frame, greet, type RawStream, respond, startRawServer, Type, words } from "../support/frames.ts";
import { arriving, connectGreeter, failureOf, greetings, signalled, startPeer } from "../support/server.ts";

const LOOK_MS = 5_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Lets the client look at its connection, with time for the network in between, until the promise settles. */
async function lookUntil(promise: Promise<unknown>, maxLooks = 1_000): Promise<number> {
  let settled = false;
  const settle = (): void => {
    settled = true;
  };
  promise.then(settle, settle);
  let looks = 0;
  for (; looks < maxLooks && !settled; looks++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    vi.advanceTimersByTime(LOOK_MS);
  }
  return looks;
}

const LONG_FIELD = block([":status", "200"], ["x-long", "x".repeat(66_000)]);
const ILL_FORMED: Readonly<Record<string, (id: number) => Uint8Array[]>> = {
  "settings of no valid size": () => [frame(Type.settings, 0, 0, Buffer.alloc(5))],
  "a ping of no valid size": () => [frame(Type.ping, 0, 0, Buffer.alloc(7))],
  "a reset of no valid size": (id) => [frame(Type.reset, 0, id, Buffer.alloc(3))],
  "a window update of no valid size": (id) => [frame(Type.windowUpdate, 0, id, Buffer.alloc(3))],
  "a goodbye of no valid size": () => [frame(Type.goaway, 0, 0, Buffer.alloc(3))],
  "a frame that is larger than any may be": () => [Buffer.from([255, 255, 255, 0, 0, 0, 0, 0, 1])],
  "data for the connection": () => [frame(Type.data, 0, 0, words(1))],
  "the end of headers that have not begun": (id) => [frame(Type.continuation, Flag.endHeaders, id, words(1))],
  "headers that cannot be decoded": (id) => [frame(Type.headers, Flag.endHeaders, id, Buffer.alloc(6, 0xff))],
  "a header field of 64 KiB": (id) =>
    [0, 1, 2, 3, 4].map((part) => {
      const bytes = LONG_FIELD.subarray(part * 16_384, (part + 1) * 16_384);
      return frame(part === 0 ? Type.headers : Type.continuation, part === 4 ? Flag.endHeaders : 0, id, bytes);
    }),
};

// Our own engine decodes headers of that size, and fails the call alone.
const { "a header field of 64 KiB": _large, ...OTHERS } = ILL_FORMED;

describe.each(Object.entries(ownEngine ? OTHERS : ILL_FORMED))("after %s", (_, make) => {
  it("a call fails as unavailable, and the next one gets another connection", async () => {
    const server = await startRawServer((stream) => {
      if (server.streams.length === 1) stream.connection.write(...make(stream.id));
      else greet(stream);
    });
    const client = connectGreeter(server.baseUrl);
    const failed = failureOf(client.greet({}));
    await lookUntil(failed);
    expect((await failed).code).toBe(Code.Unavailable);
    expect((await client.greet({})).greeting).toBe("Hello!");
    expect(server.connections.length).toBe(2);
  });
});

it("a stream fails in the middle, with the messages that came before", async () => {
  const server = await startRawServer((stream) => {
    respond(stream);
    stream.connection.write(frame(Type.data, 0, stream.id, Buffer.from([0, 0, 0, 0, 5, 0x0a, 3, 0x41, 0x64, 0x61])));
    stream.connection.write(frame(Type.settings, 0, 0, Buffer.alloc(5)));
  });
  const received: string[] = [];
  const reading = (async () => {
    for await (const { greeting } of connectGreeter(server.baseUrl).greetEach({})) received.push(greeting);
  })();
  const failed = failureOf(reading);
  await lookUntil(failed);
  expect((await failed).code).toBe(Code.Unavailable);
  expect(received).toEqual(["Ada"]);
});

describe("a server that takes its time", () => {
  // Our own engine never asks: it hears everything.
  it.skipIf(ownEngine).each([
    ["and is polite", true],
    ["and acknowledges nothing", false],
  ])("%s keeps its connection", async (_, polite) => {
    let open: RawStream | undefined;
    const server = await startRawServer((stream) => {
      stream.connection.polite = polite;
      open = stream;
    });
    const called = connectGreeter(server.baseUrl).greet({});
    expect(await lookUntil(called, 50)).toBe(50);
    if (open !== undefined) greet(open);
    expect((await called).greeting).toBe("Hello!");
    // It is asked once, and not again while it has nothing to say.
    const asked = server.connections[0]?.received.filter(({ type, flags }) => type === Type.settings && flags === 0);
    expect(asked).toHaveLength(2);
  });

  it("to read what it is sent keeps its connection, however little has left by then", async () => {
    const WINDOW_BYTES = 2 ** 30;
    const server = createServer({ settings: { initialWindowSize: WINDOW_BYTES } });
    server.on("session", (session) => session.on("remoteSettings", () => session.setLocalWindowSize(WINDOW_BYTES)));
    server.on("stream", (stream) => {
      stream.resume().on("end", () => {
        stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });
        stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
        stream.end(Buffer.from([0, 0, 0, 0, 4, 0x0a, 2, 0x48, 0x69]));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const stopped = signalled();
    const going = signalled();
    const port = await startPeer((socket) => {
      // What is read goes to the server, and nothing is read for a while once the upload has begun.
      const near = connect((server.address() as AddressInfo).port, "127.0.0.1");
      near.pipe(socket);
      let bytes = 0;
      socket.on("data", async (chunk) => {
        near.write(chunk);
        bytes += chunk.length;
        if (bytes < 256 * 1024 || bytes - chunk.length >= 256 * 1024) return;
        socket.pause();
        stopped.resolve();
        await going.promise;
        socket.resume();
      });
    });
    const name = "x".repeat(2 ** 20);
    const client = connectGreeter(`http://127.0.0.1:${port}`);
    const called = client.greetTogether(arriving(...Array<string>(32).fill(name)));
    await stopped.promise;
    expect(await lookUntil(called, 20)).toBe(20);
    going.resolve();
    expect((await called).greeting).toBe("Hi");
  });

  it("over many messages keeps it too", async () => {
    const server = await startRawServer((stream) => {
      respond(stream);
      const send = (left: number): void => {
        stream.connection.write(frame(Type.data, 0, stream.id, Buffer.from([0, 0, 0, 0, 3, 0x0a, 1, 0x41])));
        const end = block(["grpc-status", "0"]);
        if (left > 1) setTimeout(send, 12, left - 1);
        else stream.connection.write(frame(Type.headers, Flag.endHeaders | Flag.endStream, stream.id, end));
      };
      send(10);
    });
    const reading = greetings(connectGreeter(server.baseUrl).greetEach({}));
    await lookUntil(reading);
    expect(await reading).toEqual(Array(10).fill("A"));
    expect(server.connections).toHaveLength(1);
  });
});
