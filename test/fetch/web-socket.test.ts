/**
 * The transport by HTTP/2 in a WebSocket, through a gateway of the subprotocol. `test/browser` has it in a page.
 */
import { setImmediate as turn } from "node:timers/promises";
import { Code, jsonCodec, type RpcError } from "triple-es";
import { createWebSocketTransport } from "triple-es/fetch";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import {
  createGreetServiceClient,
  type GreetServiceClient,
  type GreetServiceHandler,
} from "../../examples/gen/greet/v1/greet_triple.ts";
import { freePort } from "../support/port.ts";
import { failureOf, greetings, signalled, startServer } from "../support/server.ts";
import { type Bridge, startBridge } from "../support/web-socket-bridge.ts";

// Node 20 has no WebSocket.
beforeAll(() => void vi.stubGlobal("WebSocket", WebSocket));
afterAll(() => void vi.unstubAllGlobals());

interface Connected {
  readonly client: GreetServiceClient;
  readonly bridge: Bridge;
  readonly close: () => Promise<void>;
}

async function bridgeTo(port: number): Promise<Bridge> {
  const bridge = await startBridge(port);
  onTestFinished(() => bridge.close());
  return bridge;
}

async function connect(handler: Partial<GreetServiceHandler> = {}, maxStreams = 100): Promise<Connected> {
  const { port } = await startServer(handler, { limits: { maxStreams, maxHandlers: maxStreams } });
  const bridge = await bridgeTo(port);
  const transport = createWebSocketTransport({ baseUrl: bridge.baseUrl });
  onTestFinished(() => transport.close({ graceMs: 0 }));
  return { client: createGreetServiceClient(transport), bridge, close: () => transport.close() };
}

describe("a transport by a WebSocket", () => {
  it("makes calls of all four kinds on one socket, with trailers", async () => {
    const { client, bridge } = await connect({
      greet: ({ name }, { responseTrailers }) => {
        responseTrailers.set("x-end", "true");
        return { greeting: name };
      },
    });
    async function* names() {
      yield { name: "Ann" };
      yield { name: "Bob" };
    }
    let trailer: string | undefined;
    const onTrailers = (trailers: { get(name: string): string | undefined }) => {
      trailer = trailers.get("x-end");
    };
    expect((await client.greet({ name: "Ann" }, { onTrailers })).greeting).toBe("Ann");
    expect(trailer).toBe("true");
    expect(await greetings(client.greetEach({ names: ["Ann"] }))).toEqual(["Hello, Ann!"]);
    expect((await client.greetTogether(names())).greeting).toBe("Hello, Ann and Bob!");
    expect(await greetings(client.greetOnArrival(names()))).toEqual(["Hello, Ann!", "Hello, Bob!"]);
    expect(bridge.sockets).toHaveLength(1);
  });

  it("sends the calls of one turn in one message, and a large one in messages of 64 KiB at the most", async () => {
    const { client, bridge } = await connect({ greet: ({ name }) => ({ greeting: `${name.length}` }) });
    await client.greet({ name: "first" });
    const before = bridge.received.length;
    await Promise.all(Array.from({ length: 50 }, () => client.greet({ name: "Ann" })));
    expect(bridge.received.slice(before).filter(({ length }) => length > 100)).toHaveLength(1);
    expect((await client.greet({ name: "a".repeat(1_000_000) })).greeting).toBe("1000000");
    expect(Math.max(...bridge.received.map(({ length }) => length))).toBeLessThanOrEqual(65_536);
  });

  it("makes 1,000 concurrent calls on one socket", async () => {
    const all = signalled();
    let running = 0;
    const greet: GreetServiceHandler["greet"] = async ({ name }) => {
      if (++running === 1_000) all.resolve();
      await all.promise;
      return { greeting: name };
    };
    const { client, bridge } = await connect({ greet }, 1_000);
    const calls = Array.from({ length: 1_000 }, (_, i) => client.greet({ name: `${i}` }));
    expect((await Promise.all(calls)).map(({ greeting }) => Number(greeting))).toEqual([...calls.keys()]);
    expect(bridge.sockets).toHaveLength(1);
  });

  it("cancels a call, and ends it at its deadline", async () => {
    const left = [signalled<unknown>(), signalled<unknown>()] as const;
    let calls = 0;
    const { client } = await connect({
      greet: async (_, { signal }) => {
        const { resolve } = left[calls++] as (typeof left)[0];
        await new Promise((ended) => signal.addEventListener("abort", ended));
        resolve(signal.reason);
        throw signal.reason;
      },
    });
    const controller = new AbortController();
    const cancelled = failureOf(client.greet({}, { signal: controller.signal }));
    await vi.waitUntil(() => calls === 1);
    controller.abort();
    expect((await cancelled).code).toBe(Code.Canceled);
    expect(((await left[0].promise) as RpcError).code).toBe(Code.Canceled);
    expect((await failureOf(client.greet({}, { timeoutMs: 50 }))).code).toBe(Code.DeadlineExceeded);
    await left[1].promise;
  });

  it("stops a handler whose messages are unread, until they are read", async () => {
    let made = 0;
    const { client } = await connect({
      async *greetEach() {
        for (; made < 1_000; made++) yield { greeting: "a".repeat(10_000) };
      },
    });
    const messages = client.greetEach({ names: [] })[Symbol.asyncIterator]();
    await messages.next();
    const other = await client.greet({ name: "Ann" });
    expect(other.greeting).toBe("Hello, Ann!");
    expect(made).toBeLessThan(500);
    let read = 1;
    while (!(await messages.next()).done) read++;
    expect(read).toBe(1_000);
  });

  it("writes nothing more while the buffer of the socket is full", async () => {
    let socket: FullSocket | undefined;
    class FullSocket {
      bufferedAmount = 0;
      sent = 0;
      onopen = (): void => {};
      onmessage = (_: { readonly data: ArrayBuffer }): void => {};
      constructor() {
        socket = this;
        queueMicrotask(() => {
          this.onopen();
          // SETTINGS with the largest window, and a WINDOW_UPDATE.
          const frames = "000006040000000000" + "00047fffffff" + "000004080000000000" + "7fff0000";
          this.onmessage({ data: Uint8Array.from(Buffer.from(frames, "hex")).buffer });
        });
      }
      send({ length }: Uint8Array): void {
        this.sent += length;
        this.bufferedAmount += length;
      }
      close(): void {}
    }
    vi.stubGlobal("WebSocket", FullSocket);
    onTestFinished(() => void vi.stubGlobal("WebSocket", WebSocket));
    const transport = createWebSocketTransport({ baseUrl: "http://127.0.0.1:1" });
    const call = failureOf(createGreetServiceClient(transport).greet({ name: "a".repeat(1_000_000) }));
    let rounds = 0;
    for (; socket === undefined || socket.sent < 1_000_000; rounds++) {
      await vi.waitUntil(() => socket !== undefined && socket.bufferedAmount > 65_536, { interval: 1 });
      expect(socket?.bufferedAmount).toBeLessThan(256 * 1024);
      if (socket !== undefined) socket.bufferedAmount = 0;
    }
    expect(rounds).toBeGreaterThan(4);
    await transport.close({ graceMs: 0 });
    expect((await call).code).toBe(Code.Unavailable);
  });

  it("reads a full buffer with one timer, however often a message of the server was the time for a write", async () => {
    let socket: DrainedSocket | undefined;
    /** A buffer that is empty when a message arrives, and full afterwards. */
    class DrainedSocket {
      bufferedAmount = 0;
      sent = 0;
      onopen!: () => void;
      onmessage!: (event: { readonly data: ArrayBuffer }) => void;
      constructor() {
        socket = this;
        queueMicrotask(() => {
          this.onopen();
          this.receive("000006040000000000" + "00047fffffff" + "000004080000000000" + "7fff0000");
        });
      }
      receive(frames: string): void {
        this.bufferedAmount = 0;
        this.onmessage({ data: Uint8Array.from(Buffer.from(frames, "hex")).buffer });
      }
      send({ length }: Uint8Array): void {
        this.sent += length;
        this.bufferedAmount += length;
      }
      close(): void {}
    }
    vi.stubGlobal("WebSocket", DrainedSocket);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => {
      vi.useRealTimers();
      vi.stubGlobal("WebSocket", WebSocket);
    });
    const transport = createWebSocketTransport({ baseUrl: "http://127.0.0.1:1" });
    const call = failureOf(createGreetServiceClient(transport).greet({ name: "a".repeat(4_000_000) }));
    for (let sent = 0; sent < 2_000_000; sent = socket?.sent ?? 0) {
      await turn();
      if ((socket?.bufferedAmount ?? 0) > 65_536) socket?.receive("000004080000000000" + "00000001");
    }
    // One of the buffer, and one of the idle connection.
    expect(vi.getTimerCount()).toBeLessThan(4);
    vi.useRealTimers();
    await transport.close({ graceMs: 0 });
    expect((await call).code).toBe(Code.Unavailable);
  });

  it("fails the calls of a lost socket as unavailable, and opens another one for the next call", async () => {
    const begun = signalled();
    const { client, bridge } = await connect({
      greet: ({ name }) => {
        if (name !== "Ann") return { greeting: "Hi" };
        begun.resolve();
        return new Promise(() => {});
      },
    });
    const lost = failureOf(client.greet({ name: "Ann" }));
    await begun.promise;
    bridge.sockets[0]?.terminate();
    expect((await lost).message).toMatch(/^\[unavailable\] connection to 127\.0\.0\.1:\d+ failed: the server closed/);
    expect((await client.greet({ name: "Bob" })).greeting).toBe("Hi");
    expect(bridge.sockets).toHaveLength(2);
  });

  it("finishes the calls of a server that drains, and fails later ones", async () => {
    const begun = signalled();
    const end = signalled();
    const { server, port } = await startServer({
      greet: async () => {
        begun.resolve();
        await end.promise;
        return { greeting: "late" };
      },
    });
    const bridge = await bridgeTo(port);
    const transport = createWebSocketTransport({ baseUrl: bridge.baseUrl });
    const client = createGreetServiceClient(transport);
    const call = client.greet({});
    await begun.promise;
    const closed = server.close();
    end.resolve();
    expect((await call).greeting).toBe("late");
    await closed;
    expect((await failureOf(client.greet({}))).code).toBe(Code.Unavailable);
    await transport.close();
  });

  it("closes the socket after the running calls, and refuses others", async () => {
    const { client, bridge, close } = await connect();
    const call = client.greet({ name: "Ann" });
    await Promise.all([close(), call]);
    await vi.waitUntil(() => bridge.sockets[0]?.readyState === WebSocket.CLOSED);
    expect((await failureOf(client.greet({}))).message).toContain("the transport is closed");
  });

  it.each([
    [
      "with code 1008 and a reason",
      (socket: WebSocket) => socket.close(1008, "no"),
      /closed the WebSocket with code 1008 no$/,
    ],
    ["for a text message", (socket: WebSocket) => socket.send("text"), /the server sent a text message$/],
    [
      "for bytes that are no HTTP/2",
      (socket: WebSocket) => socket.send(Buffer.alloc(64)),
      /broke the rules of HTTP\/2/,
    ],
  ])("reports a socket that ends %s", async (_, end, message) => {
    const begun = signalled();
    const { client, bridge } = await connect({
      greet: () => {
        begun.resolve();
        return new Promise(() => {});
      },
    });
    const lost = failureOf(client.greet({}));
    await begun.promise;
    end(bridge.sockets[0] as WebSocket);
    expect((await lost).message).toMatch(message);
  });

  it("fails calls as unavailable if the socket does not open, and later ones at once during the backoff", async () => {
    const transport = createWebSocketTransport({ baseUrl: `http://127.0.0.1:${await freePort()}` });
    const client = createGreetServiceClient(transport);
    expect((await failureOf(client.greet({}))).message).toMatch(
      /^\[unavailable\] connection to .* failed: .*ECONNREFUSED/,
    );
    expect((await failureOf(client.greet({}))).code).toBe(Code.Unavailable);
    expect((await failureOf(client.greet({}))).message).toMatch(/next attempt in/);
    await transport.close();
  });

  it("names the options of the server if a browser does not tell why the socket did not open", async () => {
    class Refused {
      onclose = (_: { readonly code: number; readonly reason: string }): void => {};
      constructor() {
        queueMicrotask(() => this.onclose({ code: 1006, reason: "" }));
      }
      close(): void {}
    }
    vi.stubGlobal("WebSocket", Refused);
    onTestFinished(() => void vi.stubGlobal("WebSocket", WebSocket));
    const transport = createWebSocketTransport({ baseUrl: "http://host" });
    const { message } = await failureOf(createGreetServiceClient(transport).greet({}));
    expect(message).toContain("no server listens there with the option webSocket, or its cors does not allow");
    await transport.close();
  });

  it("uses the given codec, and refuses the name of one", async () => {
    const { port } = await startServer();
    const { baseUrl } = await bridgeTo(port);
    const transport = createWebSocketTransport({ baseUrl, codec: jsonCodec });
    expect((await createGreetServiceClient(transport).greet({ name: "Ann" })).greeting).toBe("Hello, Ann!");
    await transport.close();
    expect(() => createWebSocketTransport({ baseUrl, codec: "json" as never })).toThrow(
      "codec (an object, such as jsonCodec): the name undefined must be",
    );
  });

  it("is created on a server, where its calls tell that there is no WebSocket", async () => {
    vi.stubGlobal("WebSocket", undefined);
    onTestFinished(() => void vi.stubGlobal("WebSocket", WebSocket));
    const transport = createWebSocketTransport({ baseUrl: "http://host" });
    const failure = await failureOf(createGreetServiceClient(transport).greet({}));
    expect(failure.message).toBe("[unavailable] this platform has no WebSocket: Node has it since version 22");
    await transport.close();
  });

  it.each(["", "/api", "ws://host", "http://host/?a=b", "http://host/#a"])("refuses the base URL %j", (baseUrl) => {
    const message = `baseUrl "${baseUrl}" must start with http://, https:// or, in a page, / and have no query`;
    expect(() => createWebSocketTransport({ baseUrl })).toThrow(new TypeError(message));
  });
});
