/** Clients that stop in the middle of something: each step has a time limit. */
import { describe, expect, it } from "vitest";
import { hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import { Flag, frame, RawConnection, Reset, request, settings, Type, words } from "../../support/frames.ts";
import { pause } from "../../support/pause.ts";
import { connectGreeter, openSocket, signalled, startServer } from "../../support/server.ts";
import { behave, startVictim } from "./victim-process.ts";

const INITIAL_WINDOW_SIZE = 4;
const MESSAGE = Buffer.from([0, 0, 0, 0, 5, 0x0a, 3, 0x41, 0x64, 0x61]);
const call = (stream = 1): Buffer => frame(Type.headers, Flag.endHeaders, stream, request());

/** `code`: the error code of the GOAWAY that ends the connection. */
type Silence = [name: string, limits: object, begin: (connection: RawConnection) => unknown, code: number];

const SETTINGS_TIMEOUT = 4;
/** Limits that do not end the connection while a client still prepares its attack on a busy machine. */
const PREPARED = { headersTimeoutMs: 1_000 };

const SILENCES: Silence[] = [
  [
    "does not acknowledge settings",
    { headersTimeoutMs: 200 },
    (connection) => {
      connection.polite = false;
    },
    SETTINGS_TIMEOUT,
  ],
  [
    "begins a header and does not end it",
    PREPARED,
    async (connection) => {
      await connection.frame(Type.settings);
      // No other frame may be sent within a header block (RFC 9113, section 6.10).
      connection.polite = false;
      connection.write(frame(Type.headers, 0, 1, request()));
    },
    Reset.calm,
  ],
  [
    "begins a header and does not end it, after a call",
    PREPARED,
    async (connection) => {
      connection.write(call(), frame(Type.data, Flag.endStream, 1, MESSAGE));
      await connection.frame(Type.data, 1);
      connection.polite = false;
      connection.write(frame(Type.headers, 0, 3, request()));
    },
    Reset.calm,
  ],
  [
    "begins a header of few bytes in one packet with a call, and does not end it",
    PREPARED,
    async (connection) => {
      await connection.frame(Type.settings);
      connection.polite = false;
      const begun = frame(Type.headers, 0, 3, request().subarray(0, 10));
      connection.write(call(), frame(Type.data, Flag.endStream, 1, MESSAGE), begun);
    },
    Reset.calm,
  ],
  [
    "begins a header beside a running call, and does not end it",
    PREPARED,
    async (connection) => {
      connection.write(frame(Type.headers, Flag.endHeaders, 1, request("GreetTogether")));
      await connection.frame(Type.settings);
      await pause(100);
      connection.polite = false;
      connection.write(frame(Type.headers, 0, 3, request()));
    },
    Reset.calm,
  ],
  [
    "begins a frame beside a running call, and does not end it",
    PREPARED,
    async (connection) => {
      connection.write(frame(Type.headers, Flag.endHeaders, 1, request("GreetTogether")));
      await connection.frame(Type.settings);
      connection.write(frame(Type.headers, Flag.endHeaders, 3, request()).subarray(0, 20));
    },
    Reset.calm,
  ],
  ["makes no call", { firstCallTimeoutMs: 200 }, () => {}, Reset.none],
  [
    "makes no more calls",
    { idleTimeoutMs: 200 },
    (connection) => {
      connection.write(call(), frame(Type.data, Flag.endStream, 1, MESSAGE));
    },
    Reset.none,
  ],
];

describe.each([
  ["cleartext", false],
  ["TLS", true],
])("over %s", (_, overTls) => {
  it.skipIf(overTls && !hasOpenssl).each(SILENCES)(
    "a client that %s is disconnected",
    async (_, limits, begin, code) => {
      const tls = overTls ? sharedCertificates().server : undefined;
      const { port } = await startServer({}, { limits, tls });
      const connection = await RawConnection.open(port, settings(), overTls);
      await begin(connection);
      expect(await connection.end()).toBeGreaterThan(50);
      expect(connection.received.findLast(({ type }) => type === Type.goaway)?.payload.readUInt32BE(4)).toBe(code);
    },
  );
});

it("a client that sends the preface and nothing else is disconnected", async () => {
  const { port } = await startServer({}, { limits: { headersTimeoutMs: 200 } });
  const socket = await openSocket(port);
  socket.resume();
  socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  await new Promise((resolve) => socket.once("close", resolve));
});

const DRIPS: [name: string, limits: object, dribble: boolean][] = [
  ["stops in the middle of a message", { messageIdleMs: 200 }, false],
  ["sends a message byte by byte", { messageTimeoutMs: 300 }, true],
];

describe.each([
  ["cleartext", false],
  ["TLS", true],
])("over %s", (_, overTls) => {
  it.skipIf(overTls && !hasOpenssl).each(DRIPS)(
    "a call of a client that %s fails after its time limit, and others are served",
    async (_, limits, dribble) => {
      const certificates = overTls ? sharedCertificates() : undefined;
      const { port, baseUrl } = await startServer({}, { limits, tls: certificates?.server });
      const neighbour = connectGreeter(baseUrl, { tls: certificates && { ca: certificates.ca } });
      const connection = await RawConnection.open(port, settings(), overTls);
      connection.write(call());
      const drip = (): unknown => connection.write(frame(Type.data, 0, 1, Buffer.alloc(1)));
      drip();
      const timer = setInterval(drip, dribble ? 50 : 100_000);
      const answered = connection.frame(Type.headers, 1);
      for (let i = 0; i < 10; i++) expect((await neighbour.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
      const { flags, payload } = await answered;
      clearInterval(timer);
      // A response without a message, which has grpc-status in its headers.
      expect(flags & Flag.endStream).toBe(Flag.endStream);
      expect(payload.byteLength).toBeGreaterThan(0);
      // The connection is still usable.
      connection.write(call(3), frame(Type.data, Flag.endStream, 3, MESSAGE));
      expect((await connection.frame(Type.data, 3)).payload.toString()).toContain("Hello");
    },
  );

  it.skipIf(overTls && !hasOpenssl)("a hundred clients that drip hold little memory", async () => {
    const tls = overTls ? sharedCertificates().server : undefined;
    const limits = { messageIdleMs: 5_000, messageTimeoutMs: 1_000 };
    const victim = await startVictim({ tls, limits, watchMemory: true });
    const before = await victim.health();
    const neighbour = behave(victim.port, overTls);
    const connections = await Promise.all(
      Array.from({ length: 100 }, () => RawConnection.open(victim.port, settings(), overTls)),
    );
    // A message of 4 MiB is announced.
    for (const one of connections) one.write(call(), frame(Type.data, 0, 1, Buffer.from([0, 0, 0x40, 0, 0])));
    const timer = setInterval(() => {
      for (const one of connections) one.write(frame(Type.data, 0, 1, Buffer.alloc(1)));
    }, 50);
    await Promise.all(connections.map((one) => one.frame(Type.headers, 1)));
    clearInterval(timer);
    for (const one of connections) one.tear();
    expect(await neighbour.end()).toBeGreaterThan(0);
    const after = await victim.health();
    expect(after.peakLiveBytes).toBeLessThan(before.liveBytes + 64 * 1024 * 1024);
    expect(after.uncaught).toEqual([]);
  });
});

it("a client that takes no answer has its call reset", async () => {
  const { port } = await startServer({}, { limits: { stallTimeoutMs: 200 } });
  const connection = await RawConnection.open(port, settings([INITIAL_WINDOW_SIZE, 0]));
  connection.write(call(), frame(Type.data, Flag.endStream, 1, MESSAGE));
  expect((await connection.frame(Type.reset, 1)).payload).toEqual(words(8));
});

it("a client that takes no answer over HTTP/1.1 is disconnected", async () => {
  const called = signalled();
  const greet = (): { greeting: string } => {
    called.resolve();
    return { greeting: "x".repeat(20 * 1024 * 1024) };
  };
  const { port } = await startServer({ greet }, { limits: { stallTimeoutMs: 20 } });
  const socket = await openSocket(port);
  const head = "POST /greet.v1.GreetService/Greet HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n";
  socket.write(`${head}content-length: 2\r\n\r\n{}`);
  // The server is in this process, so that its timers fire as often as this one, however slow the machine is.
  await called.promise;
  for (let i = 0; i < 300; i++) await pause(5);
  let received = 0;
  for await (const chunk of socket) received += chunk.length;
  expect(received).toBeLessThan(20 * 1024 * 1024);
});
