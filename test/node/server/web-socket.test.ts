/** Servers that accept HTTP/2 in WebSockets (RFC 6455, subprotocol `h2ts`). The client's half is that of pages, with the package `ws`. */
import { randomBytes } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { Socket } from "node:net";
import { createWebSocketTransport } from "triple-es/fetch";
import { createServer, type Server, type ServerOptions } from "triple-es/node";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { type ClientOptions, WebSocket } from "ws";
import { createGreetServiceClient, GreetServiceDef } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { PREFACE, settings } from "../../support/frames.ts";
import { aborted, failureOf, greeter, greetings, openSocket, signalled } from "../../support/server.ts";

async function listen(options: ServerOptions = {}, greet = greeter.greet): Promise<Server> {
  const server = createServer({ webSocket: true, ...options }).add(GreetServiceDef, { ...greeter, greet });
  await server.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return server;
}

/** Opens a WebSocket. Resolves with the status of the response. */
async function open(server: Server, options: ClientOptions = {}, protocols: string | string[] = "h2ts") {
  const socket = new WebSocket(`ws://127.0.0.1:${server.address.port}/any/path`, protocols, options);
  onTestFinished(() => socket.terminate());
  const status = await new Promise<number>((resolve, reject) => {
    socket.on("open", () => resolve(101));
    socket.on("unexpected-response", (_, { statusCode = 0 }) => resolve(statusCode));
    socket.on("error", reject);
  });
  return { socket, status };
}

const closeOf = async (socket: WebSocket): Promise<number> => (await once(socket, "close"))[0];

describe("a server with the option webSocket", () => {
  // Node 20 has no WebSocket.
  beforeAll(() => void vi.stubGlobal("WebSocket", WebSocket));
  afterAll(() => void vi.unstubAllGlobals());

  it("answers calls of all four kinds on a WebSocket, with large messages", async () => {
    const server = await listen();
    const transport = createWebSocketTransport({ baseUrl: `http://127.0.0.1:${server.address.port}` });
    onTestFinished(() => transport.close({ graceMs: 0 }));
    const client = createGreetServiceClient(transport);
    async function* names() {
      yield { name: "Ann" };
      yield { name: "b".repeat(300_000) };
    }
    expect((await client.greet({ name: "Ann" })).greeting).toBe("Hello, Ann!");
    expect(await greetings(client.greetEach({ names: ["Ann", "Bob"] }))).toEqual(["Hello, Ann!", "Hello, Bob!"]);
    expect((await client.greetTogether(names())).greeting).toContain("Hello, Ann and bbb");
    expect((await greetings(client.greetOnArrival(names()))).map(({ length }) => length)).toEqual([11, 300_008]);
  });

  it("opens a WebSocket after other requests on the same connection", async () => {
    const server = await listen();
    const { socket, status } = await open(server);
    expect(status).toBe(101);
    expect(socket.protocol).toBe("h2ts");
    const raw = await rawSocket(server);
    raw.socket.write(`GET /other HTTP/1.1\r\nHost: a\r\n\r\n${upgrade()}`);
    await vi.waitUntil(() => raw.received().includes("101 Switching Protocols"));
    expect(raw.received()).toMatch(/^HTTP\/1\.1 404 .*HTTP\/1\.1 101 /s);
  });

  it.each([
    ["https://a.example", "A.example:443", 101],
    ["http://a.example", "a.example:80", 101],
    ["http://a.example", "a.example:443", 403],
  ])("compares the origin %s with the host %s and its default port", async (origin, host, status) => {
    expect((await open(await listen(), { origin, headers: { host } })).status).toBe(status);
  });

  it("leaves a WebSocket of another subprotocol to the application", async () => {
    expect((await open(await listen(), {}, "chat")).status).toBe(404);
    expect((await open(await listen({ webSocket: false }))).status).toBe(404);
  });

  it.each([
    [400, { "Sec-WebSocket-Key": "short" }, "sec-websocket-key"],
    [426, { "Sec-WebSocket-Version": "8" }, "must be 13"],
    [426, { "Sec-WebSocket-Version": "8" }, "upgrade: websocket\r\n"],
    [426, { "Sec-WebSocket-Version": "8" }, "connection: upgrade\r\n"],
    [400, { "Content-Length": "1" }, "no body"],
    [403, { Origin: "https://other.example" }, "https://other.example may not call"],
    [403, { Origin: "null" }, "null may not call"],
  ])("answers %i to a handshake with %o", async (status, fields, message) => {
    const raw = await rawSocket(await listen());
    raw.socket.end(upgrade(fields));
    await once(raw.socket, "close");
    expect(raw.received()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(raw.received()).toContain(message);
  });

  it("refuses bytes that come before its response, because they belong to no protocol", async () => {
    const raw = await rawSocket(await listen());
    raw.socket.write(`${upgrade()}more`);
    await once(raw.socket, "close");
    expect(raw.received()).toMatch(/^HTTP\/1\.1 400 /);
  });

  it("refuses a client that has ended its side before the response", async () => {
    const server = await listen({}, async (_, { signal }) => {
      await aborted(signal);
      return { greeting: "late" };
    });
    const raw = await rawSocket(server);
    const head = "POST /greet.v1.GreetService/Greet HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
    raw.socket.end(`${head}Content-Length: 2\r\n\r\n{}${upgrade()}`);
    await once(raw.socket, "close");
    expect(raw.received()).toMatch(/late.* 400 /s);
  });

  it("refuses them too if they wait for a later turn, because others have used the time of this one", async () => {
    const sockets = acceptedSockets();
    const server = await listen();
    const request = "GET /other HTTP/1.1\r\nHost: a\r\n\r\n";
    const raws = [await rawSocket(server), await rawSocket(server)] as const;
    for (const raw of raws) {
      raw.socket.write(request);
      await vi.waitUntil(() => raw.received().includes(" 404 "));
    }
    const [ofOther, ofUpgrade] = sockets;
    ofOther?.emit("data", Buffer.from(request.repeat(1_000)));
    for (const start = performance.now(); performance.now() < start + 2; );
    ofUpgrade?.emit("data", Buffer.from(upgrade()));
    ofUpgrade?.emit("data", Buffer.alloc(20_000));
    await once(raws[1].socket, "close");
    expect(raws[1].received()).toMatch(/ 404 .* 400 .*nothing may follow/s);
  });

  it("opens a WebSocket behind responses that the client has not read yet", async () => {
    const sockets = acceptedSockets();
    const server = await listen({}, () => ({ greeting: "a".repeat(30_000) }));
    const raw = await rawSocket(server);
    raw.socket.pause();
    const request =
      "POST /greet.v1.GreetService/Greet HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    await vi.waitUntil(
      () => {
        // Until the kernel takes no more.
        if (sockets[0]?.writableLength) return true;
        raw.socket.write(request);
        return false;
      },
      { timeout: 10_000, interval: 5 },
    );
    raw.socket.write(`${request}${upgrade()}`);
    await vi.waitUntil(() => sockets[0]?.bytesRead === raw.socket.bytesWritten);
    raw.socket.resume();
    await vi.waitUntil(() => raw.received().includes("101 Switching Protocols"), 4_000);
  });

  it("allows pages of its own host and of the origins of cors, and cookies only with credentials", async () => {
    const seen: (string | undefined)[] = [];
    const greet: typeof greeter.greet = ({ name }, { requestHeaders }) => {
      seen.push(...["cookie", "origin", "x-forwarded-for"].map((one) => requestHeaders.get(one)));
      return { greeting: name };
    };
    const origin = "https://app.example";
    const forged = { cookie: "forged=1", origin: "https://forged.example", "x-forwarded-for": "10.0.0.1" };
    const call = async (options: ServerOptions, from: (server: Server) => string): Promise<void> => {
      const server = await listen(options, greet);
      const headers = { origin: from(server), cookie: "id=7", "x-forwarded-for": "192.0.2.1" };
      vi.stubGlobal(
        "WebSocket",
        class extends WebSocket {
          constructor(url: string, protocols: string) {
            super(url, protocols, { headers });
          }
        },
      );
      const transport = createWebSocketTransport({ baseUrl: `http://127.0.0.1:${server.address.port}` });
      await createGreetServiceClient(transport).greet({}, { headers: forged });
      await transport.close();
      vi.stubGlobal("WebSocket", WebSocket);
    };
    const own = (server: Server): string => `http://127.0.0.1:${server.address.port}`;
    await call({}, own);
    await call({ cors: { origins: [origin], credentials: true } }, () => origin);
    await call({ cors: { origins: "*" } }, () => origin);
    expect(seen).toEqual([
      ...["id=7", expect.stringContaining("http://127.0.0.1:"), "192.0.2.1"],
      ...["id=7", origin, "192.0.2.1"],
      ...[undefined, origin, "192.0.2.1"],
    ]);
  });

  it("ends with GOAWAY and the code 1000 when it closes", async () => {
    const server = await listen();
    const { socket } = await open(server);
    const messages: Buffer[] = [];
    socket.on("message", (data: Buffer) => messages.push(data));
    socket.send(Buffer.concat([PREFACE, settings()]));
    await vi.waitUntil(() => messages.length > 0);
    const closed = closeOf(socket);
    await server.close();
    expect(await closed).toBe(1000);
    expect(Buffer.concat(messages).includes(Buffer.from([0, 0, 8, 7, 0]))).toBe(true);
  });

  it("closes calls with the WebSocket of their client", async () => {
    const begun = signalled();
    const aborted = signalled();
    const server = await listen({}, async (_, { signal }) => {
      begun.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      aborted.resolve();
      throw signal.reason;
    });
    const transport = createWebSocketTransport({ baseUrl: `http://127.0.0.1:${server.address.port}` });
    const failed = failureOf(createGreetServiceClient(transport).greet({}));
    await begun.promise;
    await transport.close({ graceMs: 0 });
    await failed;
    await aborted.promise;
  });
});

/** Collects the sockets that servers accept. */
function acceptedSockets(): readonly Socket[] {
  const sockets: Socket[] = [];
  const onSocket = (message: unknown): unknown => sockets.push((message as { readonly socket: Socket }).socket);
  subscribe("net.server.socket", onSocket);
  onTestFinished(() => void unsubscribe("net.server.socket", onSocket));
  return sockets;
}

function upgrade(fields: Readonly<Record<string, string>> = {}): string {
  const all = {
    Host: "127.0.0.1",
    Connection: "keep-alive, Upgrade",
    Upgrade: "WebSocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Protocol": "other, h2ts",
    "Sec-WebSocket-Key": randomBytes(16).toString("base64"),
    ...fields,
  };
  return `GET / HTTP/1.1\r\n${Object.entries(all)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n`;
}

async function rawSocket(server: Server): Promise<{ readonly socket: Socket; readonly received: () => string }> {
  const socket = await openSocket(server.address.port);
  let text = "";
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
  });
  return { socket, received: () => text };
}
