/**
 * The reaction of a server to each attack over HTTP/2: the error code of its GOAWAY or RST_STREAM (RFC 9113, section 7); also
 * over TLS if the socket matters, because the client goes on sending or does not read. A well-behaved client on another
 * connection makes calls during and after each attack. The server is a separate process, whose memory stays bounded and which
 * has no uncaught errors.
 */
import { createTransport } from "triple-es/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createGreetServiceClient, type GreetServiceClient } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import {
  block,
  Flag,
  type Frame,
  frame,
  indexed,
  RawConnection,
  Reset,
  request,
  settings,
  Type,
  words,
} from "../../support/frames.ts";
import { INVALID_BLOCKS } from "../../support/invalid-blocks.ts";
import { pause } from "../../support/pause.ts";
import type { Health } from "./victim.ts";
import { forkVictim, type Victim } from "./victim-process.ts";

const MIB = 1024 * 1024;
const END: number = Flag.endHeaders | Flag.endStream;
const Setting = { tableSize: 1, window: 4, headerList: 6 } as const;
/** Error codes, in addition to those of {@link Reset}. */
const Code = { flowControl: 3, settingsTimeout: 4, streamClosed: 5, frameSize: 6, compression: 9 } as const;
const MAX_WINDOW = 2 ** 31 - 1;

const ODD = (index: number): number => 2 * index + 1;
const open = (id: number, method = "GreetTogether"): Buffer =>
  frame(Type.headers, Flag.endHeaders, id, request(method));
const data = (id: number, payload: Uint8Array = Buffer.alloc(5), flags = 0): Buffer =>
  frame(Type.data, flags, id, payload);
const reset = (id: number): Buffer => frame(Type.reset, 0, id, words(Reset.cancel));
const update = (id: number, increment: number): Buffer => frame(Type.windowUpdate, 0, id, words(increment));
const padded = (id: number, bytes: number): Buffer =>
  frame(Type.data, Flag.padded, id, Buffer.concat([Buffer.of(255), Buffer.alloc(bytes + 255)]));
const malformed = (id: number, ...fields: [string, string][]): Buffer =>
  frame(Type.headers, END, id, request("Greet", ...fields));

/** A message with a name. */
function named(name: string): Buffer {
  return Buffer.concat([Buffer.of(0, 0, 0, 0, name.length + 2, 0x0a, name.length), Buffer.from(name)]);
}
/** A thousand empty DATA frames that end the stream 201. */
const EMPTY_ENDS = Buffer.concat(Array(1_000).fill(data(201, Buffer.alloc(0), Flag.endStream)));
/** A whole call. */
const call = (id: number, name = "Ada"): Buffer =>
  Buffer.concat([open(id, "Greet"), data(id, named(name), Flag.endStream)]);

/** Messages of about 120 bytes, 15 KiB in total. */
const MESSAGES = Buffer.concat(Array.from({ length: 120 }, () => named("x".repeat(120))));

const codeOf = ({ type, payload }: Frame): number => payload.readUInt32BE(type === Type.goaway ? 4 : 0);

/** Sends frames until the server sends GOAWAY. Several are sent in one write, if `batch` is more than 1. */
async function floodUntilGoAway(
  connection: RawConnection,
  make: (index: number) => Uint8Array,
  batch = 200,
): Promise<void> {
  for (let i = 0; i < 200_000 && !connection.closed; i += batch) {
    await connection.flood(batch, (k) => make(i + k), batch);
    await new Promise(setImmediate);
    if (connection.received.some(({ type }) => type === Type.goaway)) return;
  }
}

interface Row {
  /** The behavior of the client, in words. */
  readonly name: string;
  readonly greeting?: Buffer;
  /** Sends what leads to the reaction. */
  readonly attack: (connection: RawConnection, victim: Victim) => unknown;
  /** The code of RST_STREAM on a stream. */
  readonly reset?: readonly [stream: number, code: number];
  /** The code of GOAWAY. Without one, the connection continues, and a call on it succeeds. */
  readonly goAway?: number;
}

/** An attack by the same frame, or by frames in turn, until the server closes the connection. */
function flood(name: string, make: (index: number) => Uint8Array, goAway: number = Reset.calm, batch?: number): Row {
  return { name, attack: (connection) => floodUntilGoAway(connection, make, batch), goAway };
}

/** Frames that end the connection at once. */
function frames(name: string, goAway: number, ...bytes: Uint8Array[]): Row {
  return { name, attack: (connection) => connection.write(...bytes), goAway };
}

/** Frames that end their stream at once. */
function stream(name: string, code: number, ...bytes: Uint8Array[]): Row {
  return { name, attack: (connection) => connection.write(...bytes), reset: [1, code] };
}

/** A request in nine frames or more: `continuations` frames of the given size follow HEADERS. */
function continued(continuations: number, size: number): Buffer {
  const head = request("Greet");
  const parts = Array.from({ length: continuations }, (_, i) =>
    frame(Type.continuation, i === continuations - 1 ? Flag.endHeaders : 0, 1, block(["x", "y".repeat(size)])),
  );
  return Buffer.concat([frame(Type.headers, 0, 1, head), ...parts]);
}

const manyStreams = (connection: RawConnection, count: number): void => {
  for (let i = 0; i < count; i++) connection.write(open(ODD(i)));
};

const BOMB = Buffer.concat([request("Greet"), indexed("x-large", "x".repeat(3_900)), Buffer.alloc(110, 0x80 | 62)]);
const TINY_FIELDS = Buffer.concat([request("Greet"), Buffer.alloc(2_100, 0x80 | 33)]);

const STREAMS: Row[] = [
  flood("opens and resets streams, each in one chunk", (i) => Buffer.concat([open(ODD(i)), reset(ODD(i))])),
  flood("opens and resets streams, a frame at a time", (i) => (i % 2 ? reset(i) : open(i + 1)), Reset.calm, 1),
  stream("sends a window update of 0", Reset.protocol, open(1), update(1, 0)),
  stream("sends a window update beyond 2^31 - 1", Code.flowControl, open(1), update(1, MAX_WINDOW)),
  flood("sends such window updates on many streams", (i) => Buffer.concat([open(ODD(i)), update(ODD(i), MAX_WINDOW)])),
  stream("sends data after the end of a request", Code.streamClosed, open(1), data(1, Buffer.alloc(5), 1), data(1)),
  stream("sends headers after the end of a request", Code.streamClosed, open(1), data(1, Buffer.alloc(5), 1), open(1)),
  frames("sends PRIORITY of the wrong size", Code.frameSize, open(1), frame(Type.priority, 0, 1, Buffer.alloc(4))),
  frames(
    "sends a stream that depends on itself",
    Reset.protocol,
    open(1),
    frame(Type.priority, 0, 1, Buffer.concat([words(1), Buffer.alloc(1)])),
  ),
  frames("sends more padding than payload", Reset.protocol, open(1), frame(Type.data, Flag.padded, 1, Buffer.of(9, 0))),
  {
    name: "leaves handlers running that it has cancelled",
    attack: async (connection, victim) => {
      const { running } = await victim.counts();
      for (const first of [0, 100]) {
        for (let i = first; i < first + 100; i++) connection.write(call(ODD(i), "stubborn"));
        await expect
          .poll(async () => (await victim.counts()).running, { timeout: 20_000 })
          .toBeGreaterThanOrEqual(running + first + 99);
        for (let i = first; i < first + 100; i++) connection.write(reset(ODD(i)));
      }
      connection.write(call(401));
      await connection.frame(Type.reset, 401);
      victim.release();
      await expect.poll(async () => (await victim.counts()).running, { timeout: 20_000 }).toBeLessThan(50);
    },
    reset: [401, Reset.refused],
  },
  {
    name: "opens more streams than it may",
    attack: async (connection) => {
      manyStreams(connection, 101);
      await connection.frame(Type.reset, 201);
      expect(connection.received.filter(({ type }) => type === Type.reset)).toHaveLength(1);
      await floodUntilGoAway(connection, (i) => open(ODD(i + 101)));
    },
    reset: [201, Reset.refused],
    goAway: Reset.calm,
  },
];

const HEADERS: Row[] = [
  { name: "sends its headers in eight CONTINUATION frames", attack: (connection) => connection.write(continued(8, 1)) },
  frames("sends its headers in nine CONTINUATION frames", Reset.calm, continued(9, 1)),
  frames("sends its headers in nine large CONTINUATION frames", Reset.calm, continued(9, 16_000)),
  frames(
    "sends empty CONTINUATION frames",
    Reset.calm,
    frame(Type.headers, 0, 1, request()),
    ...Array.from({ length: 9 }, () => frame(Type.continuation, 0, 1)),
  ),
  stream("refers many times to a large field", Reset.calm, frame(Type.headers, END, 1, BOMB)),
  stream("sends 2,100 tiny fields", Reset.calm, frame(Type.headers, END, 1, TINY_FIELDS)),
  stream("sends a field without a name", Reset.protocol, malformed(1, ["", "x"])),
  flood("sends fields without names in many requests", (i) => malformed(ODD(i), ["", "x"])),
  ...INVALID_BLOCKS.map(([name, bytes]) =>
    frames(`sends ${name}`, Code.compression, frame(Type.headers, END, 1, Buffer.concat([request(), bytes]))),
  ),
  flood("changes the size of the table in each request", (i) =>
    frame(Type.headers, END, ODD(i), Buffer.concat([Buffer.of(0x20), request("None")])),
  ),
  frames(
    "changes the size of the table three times in a request",
    Code.compression,
    frame(Type.headers, END, 1, Buffer.concat([Buffer.alloc(3, 0x20), request()])),
  ),
  {
    name: "accepts almost no headers",
    greeting: settings([Setting.headerList, 1]),
    attack: (connection) => floodUntilGoAway(connection, (i) => call(ODD(i)), 50),
    reset: [1, Reset.internal],
    goAway: Reset.calm,
  },
];

/** Requests that servers and proxies may understand differently (RFC 9113, sections 8.2 and 8.3). */
const SMUGGLING: Row[] = (
  [
    ["connection", "close"],
    ["transfer-encoding", "chunked"],
    ["te", "gzip"],
    ["upgrade", "h2c"],
    ["keep-alive", "timeout=5"],
    ["content-length", "1x"],
    ["content-length", "3"],
    ["x", "a\r\nhost: b"],
    ["x", "a\0"],
    ["content-length", "0 "],
    ["X", "a"],
    ["a:b", "c"],
    [":path", "/"],
    [":unknown", "x"],
  ] satisfies [string, string][]
).map(([name, value]) =>
  stream(
    `sends the field ${JSON.stringify(name)} with ${JSON.stringify(value)}`,
    Reset.protocol,
    malformed(1, [name, value]),
  ),
);

const FLOODS: Row[] = [
  flood("SETTINGS", () => settings()),
  flood("acknowledgements of nothing", () => frame(Type.settings, Flag.ack, 0)),
  flood("PING", () => frame(Type.ping, 0, 0, Buffer.alloc(8))),
  flood("empty DATA", (i) => (i === 0 ? open(1) : data(1, Buffer.alloc(0)))),
  flood("DATA that is padding alone", (i) => (i === 0 ? open(1) : padded(1, 0))),
  flood("DATA that is padding for the most part", (i) => (i === 0 ? open(1) : padded(1, 1))),
  flood("PRIORITY", () => frame(Type.priority, 0, 1, Buffer.alloc(5))),
  flood("unknown frames", () => frame(0xbe, 0, 0)),
  flood("large unknown frames", () => frame(0xbe, 0, 0, Buffer.alloc(16_384)), Reset.calm, 20),
  flood("WINDOW_UPDATE", () => update(0, 1)),
  flood("SETTINGS that change the windows of 100 streams", (i) =>
    i < 100 ? open(ODD(i)) : settings([Setting.window, 1_000 + (i % 2)]),
  ),
  flood("DATA on a refused stream", (i) => (i <= 100 ? open(ODD(i)) : data(201, Buffer.alloc(100)))),
  flood("HEADERS on a refused stream", (i) =>
    i <= 100 ? open(ODD(i)) : frame(Type.headers, END, 201, block(["x", "y"])),
  ),
  flood("RST_STREAM on a refused stream", (i) => (i <= 100 ? open(ODD(i)) : reset(201))),
  flood(
    "empty DATA with END_STREAM on a refused stream",
    (i) => (i <= 100 ? open(ODD(i)) : EMPTY_ENDS),
    Reset.calm,
    10,
  ),
  flood("DATA on a stream that it has reset", (i) =>
    i === 0 ? Buffer.concat([open(1), reset(1)]) : data(1, Buffer.alloc(100)),
  ),
  {
    name: "malformed requests whose resets it does not read",
    attack: async (connection) => {
      connection.socket.pause();
      await connection.flood(1_500, (i) => malformed(ODD(i), ["connection", "close"]), 100);
      connection.socket.resume();
    },
    reset: [1, Reset.protocol],
    goAway: Reset.calm,
  },
  {
    name: "windows of one byte for a large response",
    greeting: settings([Setting.window, 1]),
    attack: async (connection) => {
      connection.write(call(1, "big"));
      await connection.frame(Type.data, 1);
      await floodUntilGoAway(connection, () => update(1, 1), 1);
    },
    goAway: Reset.calm,
  },
];

const SETTINGS_AND_WINDOWS: Row[] = [
  {
    name: "sends 32 settings in a frame",
    attack: (connection) => connection.write(settings(...Array(32).fill([Setting.window, 1_000]))),
  },
  frames("sends 33 settings in a frame", Reset.calm, settings(...Array(33).fill([Setting.window, 1_000]))),
  frames("sends 2,400 settings in a frame", Reset.calm, settings(...Array(2_400).fill([Setting.window, 1_000]))),
  frames("sends a window update of 0 for the connection", Reset.protocol, update(0, 0)),
  frames("opens the window of the connection beyond 2^31 - 1", Code.flowControl, update(0, MAX_WINDOW)),
  frames(
    "opens the windows of streams beyond 2^31 - 1 by SETTINGS",
    Code.flowControl,
    open(1),
    update(1, 2 ** 30),
    settings([Setting.window, MAX_WINDOW]),
  ),
  {
    name: "sends more data than the window of a stream",
    greeting: settings([Setting.window, 0]),
    attack: (connection) =>
      floodUntilGoAway(connection, (i) => (i === 0 ? open(1, "GreetOnArrival") : data(1, MESSAGES)), 20),
    goAway: Code.flowControl,
  },
  {
    name: "fills the windows of 90 streams that are not read, five times that of the connection",
    greeting: Buffer.concat([settings([Setting.window, 0]), update(0, MAX_WINDOW - 65_535)]),
    attack: (connection) =>
      connection.flood(
        90 * 16,
        (i) => {
          const id = ODD(Math.floor(i / 16));
          return i % 16 === 0 ? open(id, "GreetOnArrival") : data(id, MESSAGES);
        },
        16,
      ),
  },
];

/** Clients that do not take what they have requested. Their server has a short `stallTimeoutMs`. */
const SLOW_READERS: Row[] = [
  {
    name: "keeps the window of a large response at zero",
    greeting: settings([Setting.window, 0]),
    attack: (connection) => connection.write(call(1, "big")),
    reset: [1, Reset.cancel],
  },
  {
    name: "opens all windows and does not read its socket",
    greeting: Buffer.concat([settings([Setting.window, MAX_WINDOW]), update(0, MAX_WINDOW - 65_535)]),
    attack: async (connection, victim) => {
      const { sockets } = await victim.counts();
      connection.socket.pause();
      for (let i = 0; i < 60; i++) connection.write(call(ODD(i), "big"));
      await expect.poll(async () => (await victim.counts()).sockets, { timeout: 20_000 }).toBe(sockets - 1);
      connection.tear();
    },
    goAway: Number.NaN,
  },
  {
    name: "keeps its socket open after an error of its own",
    attack: async (connection, victim) => {
      const { sockets } = await victim.counts();
      connection.socket.allowHalfOpen = true;
      connection.write(data(0));
      await connection.frame(Type.goaway);
      await expect.poll(async () => (await victim.counts()).sockets, { timeout: 20_000 }).toBe(sockets - 1);
      connection.tear();
    },
    goAway: Reset.protocol,
  },
];

type Group = [name: string, rows: Row[]];
const AT_ONCE: Group[] = [
  ["opens streams and", STREAMS],
  ["", HEADERS],
  ["smuggles:", SMUGGLING],
  ["plays with flow control:", SETTINGS_AND_WINDOWS],
];
const LASTING: Group[] = [["floods it with", FLOODS]];

describe.each<[transport: string, overTls: boolean, groups: Group[], limits: object]>([
  ["cleartext", false, [...AT_ONCE, ...LASTING], {}],
  ["cleartext", false, [["does not read:", SLOW_READERS]], { stallTimeoutMs: 1_000 }],
  ["TLS", true, LASTING, {}],
  ["TLS", true, [["does not read:", SLOW_READERS]], { stallTimeoutMs: 1_000 }],
])("over %s, a server whose client", (_, overTls, groups, limits) => {
  if (overTls && !hasOpenssl) return it.skip("needs openssl");
  let victim: Victim;
  let stop: () => void;
  let before: Health;
  let neighbour: GreetServiceClient;
  let closeNeighbour: () => Promise<void>;

  beforeAll(async () => {
    const certificates = overTls ? sharedCertificates() : undefined;
    [victim, stop] = await forkVictim({ tls: certificates?.server, limits });
    const transport = createTransport({
      baseUrl: `${overTls ? "https" : "http"}://127.0.0.1:${victim.port}`,
      tls: certificates && { ca: certificates.ca },
    });
    neighbour = createGreetServiceClient(transport, { timeoutMs: 60_000 });
    closeNeighbour = () => transport.close();
    await behave();
    before = await victim.health();
  });

  afterAll(async () => {
    await closeNeighbour();
    stop();
  });

  async function behave(): Promise<void> {
    expect((await neighbour.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
  }

  /** Makes calls one after the other until the attack has ended. */
  async function behaveDuring(attack: Promise<void>): Promise<void> {
    let isOver = false;
    const over = (): void => {
      isOver = true;
    };
    attack.then(over, over);
    while (!isOver) {
      await behave();
      await pause(5);
    }
  }

  describe.each(groups)("%s", (_, rows) => {
    it.each(rows)("$name", async ({ greeting, attack, reset, goAway }) => {
      const connection = await RawConnection.open(victim.port, greeting, overTls);
      const attacking = (async () => {
        await connection.frame(Type.settings);
        await attack(connection, victim);
        if (reset !== undefined) expect(codeOf(await connection.frame(Type.reset, reset[0]))).toBe(reset[1]);
        if (Number.isNaN(goAway)) return;
        if (goAway !== undefined) expect(codeOf(await connection.frame(Type.goaway))).toBe(goAway);
        else {
          connection.write(settings([Setting.window, 65_535]), call(999));
          const answer = await Promise.race([connection.frame(Type.data, 999), connection.frame(Type.goaway)]);
          expect(String(answer.payload.subarray(7))).toBe("Hello, Ada!");
          connection.socket.destroy();
        }
        await connection.end();
      })();
      await Promise.all([attacking, behaveDuring(attacking)]);
      await behave();
      // The server closes its side of a socket after its client has.
      await expect.poll(async () => (await victim.counts()).sockets).toBeLessThanOrEqual(before.sockets + 1);
      expect((await victim.counts()).uncaught).toEqual([]);
    });
  });

  it("does this has nothing of it left in memory", async () => {
    // Far below what one of the attacks sends or requests.
    await expect
      .poll(async () => (await victim.health()).liveBytes, { timeout: 20_000 })
      .toBeLessThan(before.liveBytes + 32 * MIB);
  });
});
