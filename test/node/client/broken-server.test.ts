/** Servers that violate HTTP/2 frame by frame: calls without a deadline end, and later calls succeed. */
import { createServer } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { Code } from "triple-es";
import { describe, expect, it, onTestFinished } from "vitest";
import { block, Flag, frame, greet, respond, startRawServer, Type, words } from "../../support/frames.ts";
import { pause } from "../../support/pause.ts";
import { arriving, connectGreeter, failureOf, greetings, signalled, startPeer } from "../../support/server.ts";

const ILL_FORMED: Readonly<Record<string, (id: number) => Uint8Array[]>> = {
  "settings of no valid size": () => [frame(Type.settings, 0, 0, Buffer.alloc(5))],
  "a ping of no valid size": () => [frame(Type.ping, 0, 0, Buffer.alloc(7))],
  "a reset of no valid size": (id) => [frame(Type.reset, 0, id, Buffer.alloc(3))],
  "a window update of no valid size": (id) => [frame(Type.windowUpdate, 0, id, Buffer.alloc(3))],
  "a GOAWAY of no valid size": () => [frame(Type.goaway, 0, 0, Buffer.alloc(3))],
  "a frame that is larger than any may be": () => [Buffer.from([255, 255, 255, 0, 0, 0, 0, 0, 1])],
  "data for the connection": () => [frame(Type.data, 0, 0, words(1))],
  "the end of headers that have not begun": (id) => [frame(Type.continuation, Flag.endHeaders, id, words(1))],
  "headers that cannot be decoded": (id) => [frame(Type.headers, Flag.endHeaders, id, Buffer.alloc(6, 0xff))],
};

describe.each(Object.entries(ILL_FORMED))("after %s", (_, make) => {
  it("a call fails as unavailable, and the next one gets another connection", async () => {
    const server = await startRawServer((stream) => {
      if (server.streams.length === 1) stream.connection.write(...make(stream.id));
      else greet(stream);
    });
    const client = connectGreeter(server.baseUrl);
    expect((await failureOf(client.greet({}))).code).toBe(Code.Unavailable);
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
  expect((await failureOf(reading)).code).toBe(Code.Unavailable);
  expect(received).toEqual(["Ada"]);
});

describe("a server that takes its time", () => {
  it("keeps its connection if it reads slowly, however few bytes have been sent", async () => {
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
      // The client echoes the data, and stops reading for a while once the upload has begun.
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
    await pause(100);
    going.resolve();
    expect((await called).greeting).toBe("Hi");
  });

  it("keeps its connection over many messages too", async () => {
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
    expect(await reading).toEqual(Array(10).fill("A"));
    expect(server.connections).toHaveLength(1);
  });
});

it("a header field of 64 KiB fails its call alone, and not the connection", async () => {
  const fields = block([":status", "200"], ["x-long", "x".repeat(66_000)]);
  const server = await startRawServer((stream) => {
    if (server.streams.length > 1) return greet(stream);
    for (let part = 0; part < 5; part++) {
      const bytes = fields.subarray(part * 16_384, (part + 1) * 16_384);
      const type = part === 0 ? Type.headers : Type.continuation;
      stream.connection.write(frame(type, part === 4 ? Flag.endHeaders : 0, stream.id, bytes));
    }
  });
  const client = connectGreeter(server.baseUrl);
  expect((await failureOf(client.greet({}))).code).toBe(Code.ResourceExhausted);
  expect((await client.greet({})).greeting).toBe("Hello!");
  expect(server.connections).toHaveLength(1);
});
