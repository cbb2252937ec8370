/**
 * All sockets of clients and servers have a listener for "error" at all times, because such an event without a listener
 * ends the process: while they connect, when they are handed over or kept alive, and after they are destroyed.
 */
import { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Certificates, hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import { block, Flag, frame, settings, Type } from "../../support/frames.ts";
import { pause } from "../../support/pause.ts";
import {
  arriving,
  connectGreeter,
  greetings,
  openSocket,
  secure,
  startPeer,
  startServer,
} from "../../support/server.ts";

const ignore = (): void => {};

/** Sockets that were found without a listener, and at which moment. */
const unguarded: string[] = [];
const uncaught: unknown[] = [];
const onUncaught = (error: unknown): unknown => uncaught.push(error);
const seen = new Set<Socket>();

/** Sockets are inspected from the tick after their creation on: they are complete then, and no error has been emitted. */
const complete = new WeakSet<Socket>();

function inspect(socket: Socket, moment: string): void {
  if (!seen.has(socket)) {
    seen.add(socket);
    process.nextTick(() => {
      complete.add(socket);
      inspect(socket, "after its making");
    });
  }
  if (!complete.has(socket) || socket.listenerCount("error") > 0) return;
  const kind = socket instanceof TLSSocket ? "TLS" : "TCP";
  unguarded.push(`${kind} socket ${moment} ${new Error("where").stack?.split("\n").slice(3, 9).join("")}`);
}

/** Inspects every socket after each of its events and after a listener was removed. */
function watchSockets(): () => void {
  const { prototype } = Socket as unknown as { prototype: Record<string, (...args: unknown[]) => unknown> };
  const watched = { connect: "connecting", emit: "after event", removeListener: "without", off: "without" };
  for (const [name, moment] of Object.entries(watched)) {
    const original = prototype[name] as (...args: unknown[]) => unknown;
    prototype[name] = function (this: Socket, ...args: unknown[]) {
      const result = Reflect.apply(original, this, args);
      inspect(this, typeof args[0] === "string" ? `${moment} ${args[0]}` : moment);
      return result;
    };
    restore.push(() => {
      if (name === "connect") prototype[name] = original;
      else Reflect.deleteProperty(prototype, name);
    });
  }
  return () => {
    for (const undo of restore.splice(0)) undo();
  };
}
const restore: (() => void)[] = [];

let stopWatching = ignore;
beforeAll(() => {
  stopWatching = watchSockets();
  process.on("uncaughtException", onUncaught);
});
afterEach(async () => {
  await pause(10);
  for (const socket of seen) inspect(socket, "at the end");
  expect([...new Set(unguarded.splice(0))], "sockets without a listener").toEqual([]);
  expect(uncaught.splice(0), "uncaught errors").toEqual([]);
  expect(seen.size).toBeGreaterThan(0);
  seen.clear();
});
afterAll(() => {
  stopWatching();
  process.off("uncaughtException", onUncaught);
});

const CLIENTS = [
  { protocol: "grpc", httpVersion: "2" },
  { protocol: "http-rpc", httpVersion: "2" },
  { protocol: "http-rpc", httpVersion: "1.1" },
] as const;
type Client = (typeof CLIENTS)[number];
const LARGE = "x".repeat(512 * 1024);

/**
 * Makes calls with every outcome, twice: on new connections, and on those that are left. The outcomes do not matter, but the process must continue.
 */
async function callInAllWays(baseUrl: string, client: Client, tls: object | undefined): Promise<void> {
  const greeter = connectGreeter(
    baseUrl,
    { ...client, tls, maxBackoffMs: 0, maxMessageBytes: 8 * 1024 * 1024 },
    { timeoutMs: 200 },
  );
  const headers = { "x-long": "y".repeat(8_000) };
  const cancel = new AbortController();
  const calls = [
    () => greeter.greet({ name: "Ada" }),
    () => greeter.greet({ name: LARGE }),
    () => greeter.greet({ name: LARGE }, { timeoutMs: 1 }),
    () => greeter.greet({ name: LARGE }, { timeoutMs: 30 }),
    () => greeter.greet({ name: "Ada" }, { headers }),
    () => greeter.greet({ name: "Ada" }, { timeoutMs: 0 }),
    () => greeter.greet({ name: "Ada" }, { signal: cancel.signal }),
    () => greetings(greeter.greetOnArrival(arriving("Ada", LARGE, LARGE))),
  ];
  setImmediate(() => cancel.abort());
  for (let round = 0; round < 2; round++) await Promise.allSettled(calls.map((call) => call()));
}

type Close = "end" | "destroy" | "resetAndDestroy";
type Phase = readonly [name: string, onSocket: (socket: Socket, close: () => void) => void];

const OK = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 14\r\n";
const HEADERS = frame(
  Type.headers,
  Flag.endHeaders,
  1,
  block([":status", "200"], ["content-type", "application/grpc"]),
);
const afterBytes = (bytes: number, then: (socket: Socket) => void) => (socket: Socket, close: () => void) => {
  let received = 0;
  socket.on("data", (chunk: Buffer) => {
    if (received <= bytes && received + chunk.byteLength > bytes) {
      then(socket);
      close();
    }
    received += chunk.byteLength;
  });
};

const PHASES: readonly Phase[] = [
  ["at once", (_, close) => close()],
  ["after 10 ms", (_, close) => void setTimeout(close, 10)],
  ["with the first bytes", afterBytes(0, ignore)],
  ["in the middle of a large request", afterBytes(100_000, ignore)],
  ["after a whole response that says to keep the connection", afterBytes(0, (s) => s.write(`${OK}\r\n{"greeting":1}`))],
  [
    "after a whole response that says to close",
    afterBytes(0, (s) => s.write(`${OK}connection: close\r\n\r\n{"greeting":1}`)),
  ],
  [
    "after an error before the request has come",
    afterBytes(0, (s) => s.write("HTTP/1.1 413 No\r\ncontent-length: 0\r\n\r\n")),
  ],
  ["after 100 Continue", afterBytes(0, (s) => s.write("HTTP/1.1 100 Continue\r\n\r\n"))],
  ["in the middle of headers", afterBytes(0, (s) => s.write("HTTP/1.1 200 OK\r\nconte"))],
  ["in the middle of a body", afterBytes(0, (s) => s.write(`${OK}\r\n{"gree`))],
  [
    "after a switch of protocols",
    afterBytes(0, (s) => s.write("HTTP/1.1 101 Hi\r\nupgrade: a\r\nconnection: upgrade\r\n\r\n")),
  ],
  ["after SETTINGS", (s, close) => void s.write(settings(), () => setTimeout(close, 5))],
  [
    "after SETTINGS and response headers",
    (s, close) => {
      s.write(settings());
      afterBytes(60, (one) => one.write(HEADERS))(s, close);
    },
  ],
  [
    "after SETTINGS, in the middle of a large request",
    (s, close) => {
      s.write(settings());
      afterBytes(60_000, ignore)(s, close);
    },
  ],
];
const CLOSES: readonly Close[] = ["end", "destroy", "resetAndDestroy"];

describe.each([{ overTls: false }, { overTls: true }])("over TLS: $overTls", ({ overTls }) => {
  const certificates = (overTls && hasOpenssl ? sharedCertificates() : undefined) as Certificates | undefined;
  const tls = certificates && { ca: certificates.ca };
  const scheme = overTls ? "https" : "http";
  const skipped = overTls && !hasOpenssl;

  describe.skipIf(skipped)("sockets have a listener for errors", () => {
    it.each(CLIENTS)("when calls succeed, fail and are cancelled: $protocol over HTTP/$httpVersion", async (client) => {
      const { baseUrl, server } = await startServer({}, { tls: certificates?.server });
      await callInAllWays(baseUrl, client, tls);
      const calls = callInAllWays(baseUrl, client, tls);
      await pause(20);
      await server.close({ graceMs: 0 });
      await calls;
    });

    it.each(CLIENTS.flatMap((client) => CLOSES.map((close) => ({ close, ...client }))))(
      "when the peer closes early by $close, in every phase: $protocol over HTTP/$httpVersion",
      async ({ close, ...client }) => {
        const identity = certificates && { ...certificates.server, ALPNProtocols: ["h2", "http/1.1"] };
        // Node cannot reset a TLS socket.
        const method = overTls && close === "resetAndDestroy" ? "destroy" : close;
        await Promise.all(
          PHASES.map(async ([, phase]) => {
            const port = await startPeer((socket) => phase(socket, () => socket[method]()), identity);
            await callInAllWays(`${scheme}://127.0.0.1:${port}`, client, tls);
          }),
        );
      },
    );

    it("on a server whose clients send anything and leave", async () => {
      const { port } = await startServer({}, { tls: certificates?.server });
      const opening = "POST /greet.v1.GreetService/Greet HTTP/1.1\r\nhost: a\r\n";
      const sent = [
        "",
        "PRI * HTT",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
        "rubbish\r\n\r\n",
        "POST",
        `${opening}content-type: application/json\r\ncontent-length: 2\r\n\r\n{}`,
        `${opening}content-type: application/json\r\ncontent-length: 2\r\n\r\n{}`.repeat(3),
        `${opening}content-type: application/json\r\ncontent-length: 200\r\n\r\n{}`,
        `${opening}upgrade: websocket\r\nconnection: upgrade\r\n\r\n`,
        `${opening}upgrade: h2c\r\nconnection: upgrade, http2-settings\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n\r\n`,
        `${opening}expect: 100-continue\r\ncontent-length: 2\r\n\r\n`,
        `${opening}expect: something\r\n\r\n`,
        "CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n",
      ];
      for (const bytes of sent) {
        for (const alpn of overTls ? ["h2", "http/1.1", undefined, "none"] : [undefined]) {
          for (const close of CLOSES) {
            const tcp = await openSocket(port);
            if (alpn === "none") tcp.write(bytes);
            const options = { rejectUnauthorized: false, ...(alpn === undefined ? {} : { ALPNProtocols: [alpn] }) };
            const socket = overTls && alpn !== "none" ? await secure(tcp, options) : tcp;
            socket.on("error", ignore);
            if (alpn !== "none") socket.write(bytes);
            await pause(2);
            tcp[close]();
            socket.destroy();
          }
        }
      }
    });

    it("on a server that closes while connections are undecided, idle and busy", async () => {
      const { server, port } = await startServer({}, { tls: certificates?.server });
      const sockets = await Promise.all(Array.from({ length: 6 }, () => openSocket(port)));
      onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
      sockets[0]?.write("PRI * HTT");
      sockets[1]?.write("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n");
      sockets[2]?.write(Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), settings()]));
      await pause(20);
      await server.close({ graceMs: 0 });
    });
  });
});
