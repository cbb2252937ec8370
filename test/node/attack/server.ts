/**
 * Attacks on a server over HTTP/2 that work by their amount; also over TLS if they end or fill the socket, or depend on the
 * sizes of the chunks that arrive: handlers and memory stay within their limits, and a well-behaved client on another connection is
 * not affected. `server-limits.test.ts` has the exact reactions.
 */
import { connect as connectHttp2 } from "node:http2";
import { createTransport } from "triple-es/node";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { createGreetServiceClient } from "../../../examples/gen/greet/v1/greet_triple.ts";
import type { Certificates } from "../../support/certificate.ts";
import { block, Flag, frame, indexed, RawConnection, request, settings, Type, words } from "../../support/frames.ts";
import { openSocket, secure } from "../../support/server.ts";
import type { Health } from "./victim.ts";
import { forkVictim, type Victim } from "./victim-process.ts";

const MIB = 1024 * 1024;
/** Limit on blocking of the event loop: far above garbage collection, far below what users notice. */
const MAX_BLOCK_MS = 500;
const HEADER_TABLE_SIZE = 1;
const INITIAL_WINDOW_SIZE = 4;
const MAX_HEADER_LIST_SIZE = 6;
const END: number = Flag.endHeaders | Flag.endStream;
const ODD = (index: number): number => 2 * index + 1;
const EMPTY_MESSAGE = Buffer.alloc(5);
/** A message with one string field, as gRPC sends it. */
function named(name: string): Buffer {
  const text = Buffer.from(name);
  return Buffer.concat([Buffer.from([0, 0, 0, 0, text.byteLength + 2, 0x0a, text.byteLength]), text]);
}
const open = (stream: number, method = "Greet"): Buffer =>
  frame(Type.headers, Flag.endHeaders, stream, request(method));
const message = (stream: number, data: Uint8Array = EMPTY_MESSAGE, flags = 0): Buffer =>
  frame(Type.data, flags, stream, data);
const FULL: Buffer = message(1, Buffer.alloc(16_384));
const reset = (stream: number): Buffer => frame(Type.reset, 0, stream, words(8));

/** Runs all attacks; over TLS, if certificates are given, those in which it matters. */
export function attackServer(certificates?: Certificates): void {
  let victim: Victim;
  let stop: () => void;
  let before: Health;
  let transport: ReturnType<typeof createTransport>;
  const overTls = certificates !== undefined;
  /** Declares attacks on what is above TLS. */
  const describeAbove = (name: string, define: () => void): void => {
    if (!overTls) describe(name, define);
  };
  const connect = (greeting?: Uint8Array): Promise<RawConnection> => RawConnection.open(victim.port, greeting, overTls);

  beforeAll(async () => {
    [victim, stop] = await forkVictim({ tls: certificates?.server });
    const tls = certificates && { ca: certificates.ca };
    transport = createTransport({ baseUrl: `${overTls ? "https" : "http"}://127.0.0.1:${victim.port}`, tls });
    // Warm-up, so that later measurements do not include the compiler.
    for (let i = 0; i < 500; i++) await behave();
    // The warm-up also lets V8 grow the young generation as for a busy client.
    await pour(10, 10_000);
    before = await victim.health();
  });
  afterAll(async () => {
    await transport.close();
    stop();
  });

  async function behave(): Promise<void> {
    const { greeting } = await createGreetServiceClient(transport).greet({ name: "Ada" }, { timeoutMs: 100_000 });
    expect(greeting).toBe("Hello, Ada!");
  }

  /**
   * Sends messages without bytes on the given number of streams at once, and returns the number that the server has counted
   * on each.
   */
  async function pour(streams: number, perStream: number): Promise<string[]> {
    const session = connectHttp2(`${overTls ? "https" : "http"}://127.0.0.1:${victim.port}`, {
      rejectUnauthorized: false,
    });
    const count = async (): Promise<string> => {
      const stream = session.request({
        ":method": "POST",
        ":path": "/greet.v1.GreetService/GreetTogether",
        "content-type": "application/grpc",
        te: "trailers",
      });
      stream.end(Buffer.alloc(perStream * EMPTY_MESSAGE.byteLength));
      const chunks: Buffer[] = await stream.toArray();
      return Buffer.concat(chunks).subarray(7).toString();
    };
    const counts = await Promise.all(Array.from({ length: streams }, count));
    session.destroy();
    return counts;
  }

  /** Runs an attack while a well-behaved client makes calls. */
  async function attack(run: (connection: RawConnection) => Promise<unknown>, greeting?: Uint8Array): Promise<Health> {
    const connection = await connect(greeting);
    const wellBehaved = (async () => {
      for (let i = 0; i < 10; i++) await behave();
    })();
    await run(connection);
    await wellBehaved;
    const during = await victim.health();
    connection.socket.destroy();
    return during;
  }

  afterEach(async () => {
    await behave();
    await expect.poll(async () => (await victim.counts()).running).toBe(0);
    await expect.poll(async () => (await victim.counts()).sockets).toBeLessThanOrEqual(before.sockets);
    expect((await victim.counts()).uncaught).toEqual([]);
    await vi.waitFor(async () => {
      const { liveBytes, residentBytes } = await victim.health();
      expect(liveBytes).toBeLessThan(before.liveBytes + 32 * MIB);
      // The process keeps pages of memory that it has released, so that the resident memory says less.
      expect(residentBytes).toBeLessThan(before.residentBytes + 128 * MIB);
    }, 9_000);
  });

  describeAbove("streams that are opened and reset", () => {
    it("do not start more handlers than may run and may be cancelled (rapid reset)", async () => {
      const { started } = before;
      const during = await attack(async (connection) => {
        // Each stream in a write of its own, which lets its handler start.
        await connection.flood(10_000, (i) => Buffer.concat([open(ODD(i), "GreetTogether"), reset(ODD(i))]), 1);
        await connection.end();
      });
      expect(during.started - started).toBeLessThan(2_000);
      expect(during.peak).toBeLessThanOrEqual(201);
    });

    it.each<[name: string, provoke: (stream: number) => Uint8Array[]]>([
      ["a window update of nothing", (id) => [open(id, "GreetTogether"), frame(Type.windowUpdate, 0, id, words(0))]],
      [
        "a window beyond all measure",
        (id) => [open(id, "GreetTogether"), frame(Type.windowUpdate, 0, id, words(0x7fffffff))],
      ],
      ["data after the end", (id) => [open(id), message(id, EMPTY_MESSAGE, Flag.endStream), message(id)]],
      ["headers after the end", (id) => [open(id), message(id, EMPTY_MESSAGE, Flag.endStream), open(id)]],
      [
        "a priority of the wrong size",
        (id) => [open(id, "GreetTogether"), frame(Type.priority, 0, id, Buffer.alloc(4))],
      ],
      [
        "a stream that depends on itself",
        (id) => [open(id, "GreetTogether"), frame(Type.priority, 0, id, Buffer.concat([words(id), Buffer.alloc(1)]))],
      ],
      [
        "more padding than there is data",
        (id) => [open(id, "GreetTogether"), frame(Type.data, Flag.padded, id, Buffer.from([255, 0]))],
      ],
      [
        "another length than was announced",
        (id) => [
          frame(Type.headers, Flag.endHeaders, id, request("Greet", ["content-length", "9"])),
          message(id, EMPTY_MESSAGE, Flag.endStream),
        ],
      ],
    ])("are limited if the server resets them because of %s", async (_, provoke) => {
      const { started } = await victim.counts();
      const during = await attack((connection) => connection.flood(4_000, (i) => Buffer.concat(provoke(ODD(i)))));
      expect(during.started - started).toBeLessThan(2_000);
    });

    it.each([0, 1, 100])("are limited if the client accepts headers of only %i bytes", async (size) => {
      await attack(
        (connection) =>
          connection.flood(
            2_000,
            (i) => Buffer.concat([open(ODD(i)), message(ODD(i), EMPTY_MESSAGE, Flag.endStream)]),
            50,
          ),
        settings([MAX_HEADER_LIST_SIZE, size]),
      );
    });
  });

  describeAbove("streams that stay open", () => {
    it("are no more than the limit", async () => {
      const during = await attack((connection) => connection.flood(10_000, (i) => open(ODD(i), "GreetTogether")));
      expect(during.peak).toBeLessThanOrEqual(101);
    });

    it("hold no more memory than the limit of a connection if large responses are not read (window of zero)", async () => {
      const during = await attack(
        async (connection) => {
          await connection.flood(
            100,
            (i) => Buffer.concat([open(ODD(i)), message(ODD(i), named("big"), Flag.endStream)]),
            5,
          );
          await new Promise((resolve) => setTimeout(resolve, 300));
        },
        settings([INITIAL_WINDOW_SIZE, 0]),
      );
      expect(during.residentBytes).toBeLessThan(before.residentBytes + 256 * MIB);
    });

    it("hold no more memory than the limit of a connection if windows are opened by single bytes (data dribble)", async () => {
      await attack(
        async (connection) => {
          await connection.flood(
            50,
            (i) => Buffer.concat([open(ODD(i)), message(ODD(i), named("big"), Flag.endStream)]),
            5,
          );
          await connection.flood(5_000, (i) => frame(Type.windowUpdate, 0, ODD(i % 50), words(1)), 50);
        },
        settings([INITIAL_WINDOW_SIZE, 1]),
      );
    });
  });

  describeAbove("headers", () => {
    it("are released if the connection ends within them", async () => {
      for (let i = 0; i < 100; i++) {
        const connection = await connect();
        connection.write(frame(Type.headers, 0, 1, request()));
        connection.tear();
      }
    });

    it("are not stored if they expand to megabytes (HPACK bomb)", async () => {
      const large = indexed("x-large", "x".repeat(3_900));
      const first = Buffer.concat([request(), large]);
      const following = Buffer.concat([request(), Buffer.alloc(110, 0x80 | 62)]);
      const during = await attack(
        async (connection) => {
          connection.write(frame(Type.headers, Flag.endHeaders, 1, first));
          await connection.flood(2_000, (i) => frame(Type.headers, Flag.endHeaders, ODD(i + 1), following));
        },
        settings([INITIAL_WINDOW_SIZE, 0], [HEADER_TABLE_SIZE, 4096]),
      );
      expect(during.residentBytes).toBeLessThan(before.residentBytes + 128 * MIB);
    });

    it("are refused if there are thousands", async () => {
      const { started } = await victim.counts();
      const block = Buffer.concat([request(), Buffer.alloc(16_000, 0x80 | 33)]);
      await attack((connection) =>
        connection.flood(100, (i) => frame(Type.headers, Flag.endHeaders, ODD(i), block), 10),
      );
      // The calls of the well-behaved client.
      expect((await victim.counts()).started - started).toBeLessThanOrEqual(10);
    });
  });

  describe("floods of", () => {
    const unread: [name: string, make: (id: number) => Uint8Array][] = [
      ["a small response", (id) => Buffer.concat([open(id), message(id, EMPTY_MESSAGE, Flag.endStream)])],
    ];
    const unreadAbove: typeof unread = [
      ["headers alone", (id) => frame(Type.headers, END, id, request("None"))],
      ["a refusal", (id) => open(id, "GreetTogether")],
    ];
    it.each(overTls ? unread : [...unread, ...unreadAbove])(
      "requests for %s that is not read, with open windows, take bounded memory",
      async (_, make) => {
        const during = await attack(
          (connection) => {
            connection.write(frame(Type.windowUpdate, 0, 0, words(0x7fff0000)));
            connection.socket.pause();
            return Promise.race([
              connection.flood(300_000, (i) => make(ODD(i)), 1_000),
              new Promise((resolve) => setTimeout(resolve, 3_000)),
            ]);
          },
          settings([INITIAL_WINDOW_SIZE, 0x7fffffff]),
        );
        expect(during.residentBytes).toBeLessThan(before.residentBytes + 128 * MIB);
      },
    );

    it.each(["pings", "settings"])("%s whose answers are not read do no harm", async (name) => {
      await attack((connection) => {
        connection.socket.pause();
        const make = name === "pings" ? () => frame(Type.ping, 0, 0, Buffer.alloc(8)) : () => settings();
        return Promise.race([
          connection.flood(100_000, make, 1_000),
          new Promise((resolve) => setTimeout(resolve, 2_000)),
        ]);
      });
    });

    it("an upload that the handler does not read is answered, discarded up to a limit and reset without an error", async () => {
      const during = await attack(async (connection) => {
        connection.write(open(1, "None"), ...Array.from({ length: 15 }, () => FULL));
        expect((await connection.frame(Type.reset, 1)).payload.readUInt32BE()).toBe(0);
        const types = connection.received.filter(({ stream }) => stream === 1).map(({ type }) => type);
        expect(types.indexOf(Type.headers)).toBeLessThan(types.indexOf(Type.reset));
        // A gibibyte, regardless of windows and of the reset.
        await connection.flood(65_536, () => FULL);
        await connection.end();
      });
      expect(during.residentBytes).toBeLessThan(before.residentBytes + 64 * MIB);
    });

    it("200,000 bytes of a request in DATA frames of one byte each are received", async () => {
      await attack(async (connection) => {
        // The flood would delay the acknowledgement of these, for which the victim waits a second.
        await connection.frame(Type.settings);
        connection.write(open(1, "GreetTogether"));
        // 40,000 messages without bytes, each in five frames.
        const batch = Buffer.concat(Array.from({ length: 10_000 }, () => message(1, Buffer.alloc(1))));
        await connection.sendWithinWindow(1, batch, 10_000, 20);
        connection.write(message(1, Buffer.alloc(0), Flag.endStream));
        const { payload } = await connection.frame(Type.data, 1);
        expect(payload.subarray(7).toString()).toBe("40000");
      });
    });

    it("messages without bytes, with padding, are all counted", async () => {
      const padded = Buffer.concat([Buffer.from([200]), EMPTY_MESSAGE, Buffer.alloc(200)]);
      await attack(async (connection) => {
        connection.write(open(1, "GreetTogether"));
        await connection.flood(5_000, () => frame(Type.data, Flag.padded, 1, padded), 100);
        connection.write(message(1, Buffer.alloc(0), Flag.endStream));
        const { payload } = await connection.frame(Type.data, 1);
        expect(payload.subarray(7).toString()).toBe("5000");
      });
    });
  });

  it.each([1, 100])("400,000 messages without bytes, on %i streams, do not delay other clients", async (streams) => {
    const perStream = 400_000 / streams;
    const during = await attack(async () => {
      const counts = await pour(streams, perStream);
      expect(new Set(counts)).toEqual(new Set([String(perStream)]));
    });
    // Two batches may be processed in one turn.
    expect(during.mostPerTurn).toBeLessThanOrEqual(2 * 2_048);
    expect(during.longestBlockMs).toBeLessThan(MAX_BLOCK_MS);
  });

  describe("connections", () => {
    it.each<[name: string, leave: (connection: RawConnection) => void]>([
      ["send GOAWAY during a call", (connection) => connection.write(frame(Type.goaway, 0, 0, words(0, 0)))],
      ["send GOAWAY with an error", (connection) => connection.write(frame(Type.goaway, 0, 0, words(0, 2)))],
      ["are torn down in the middle of a call", (connection) => connection.tear()],
      ["break the rules", (connection) => connection.write(frame(Type.data, 0, 0, Buffer.alloc(5)))],
    ])("are released if they %s", async (_, leave) => {
      for (let i = 0; i < 60; i++) {
        const connection = await connect();
        connection.write(open(1, "GreetTogether"), message(1));
        leave(connection);
        setTimeout(() => connection.socket.destroy(), 20);
      }
    });

    it.runIf(overTls)("are released if they offer an unknown protocol or abort their handshake", async () => {
      const refused = async (): Promise<void> => {
        await expect(secure(await openSocket(victim.port), { ALPNProtocols: ["spdy/9"] })).rejects.toThrow();
      };
      for (let i = 0; i < 4; i++) await Promise.all(Array.from({ length: 100 }, refused));
      // The first bytes of a ClientHello.
      const hello = Buffer.from("16030100c8010000c40303", "hex");
      for (let i = 0; i < 50; i++) (await openSocket(victim.port)).end(hello);
      for (let i = 0; i < 50; i++) {
        const socket = await openSocket(victim.port);
        socket.write(hello, () => socket.resetAndDestroy());
      }
    });

    it("with random frames do not affect the others", async () => {
      let seed = 42;
      const random = (below: number): number => {
        seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
        return Math.floor((seed / 2 ** 32) * below);
      };
      for (let i = 0; i < 100; i++) {
        const connection = await connect();
        for (let k = 0; k < 30; k++) {
          const bytes = Uint8Array.from({ length: random(40) }, () => random(256));
          const kind = random(4);
          const stream = ODD(random(5));
          if (kind === 0) connection.write(open(stream, "GreetTogether"));
          else if (kind === 1) connection.write(frame(Type.data, random(2), stream, bytes));
          else connection.write(frame(random(11), random(64), random(6), bytes));
        }
        setTimeout(() => connection.socket.destroy(), 10);
      }
    });
  });

  describeAbove("paths", () => {
    it.each([
      "greet.v1.GreetService/Greet",
      "//greet.v1.GreetService/Greet",
      "/greet.v1.GreetService//Greet",
      "/greet.v1.GreetService/Greet/",
      "/greet.v1.GreetService/./Greet",
      "/x/../greet.v1.GreetService/Greet",
      "/greet.v1.GreetService%2FGreet",
      "/greet.v1.GreetService/Greet%00",
      "/greet.v1.GreetService/greet",
      "/greet.v1.GreetService/Greet;x",
      "*",
    ])("such as %s lead to no handler", async (path) => {
      const { started } = await victim.counts();
      const connection = await connect();
      const head = block(
        [":method", "POST"],
        [":scheme", "http"],
        [":path", path],
        [":authority", "127.0.0.1"],
        ["content-type", "application/grpc"],
        ["te", "trailers"],
      );
      connection.write(frame(Type.headers, Flag.endHeaders, 1, head), message(1, EMPTY_MESSAGE, Flag.endStream));
      await Promise.race([connection.frame(Type.headers, 1), connection.frame(Type.reset, 1)]);
      expect((await victim.counts()).started).toBe(started);
      connection.socket.destroy();
    });

    it("are refused if the host differs from the authority", async () => {
      const { started } = await victim.counts();
      const connection = await connect();
      const head = request("Greet", ["host", "elsewhere.example"]);
      connection.write(frame(Type.headers, Flag.endHeaders, 1, head), message(1, EMPTY_MESSAGE, Flag.endStream));
      await connection.frame(Type.headers, 1);
      expect((await victim.counts()).started).toBe(started);
      connection.socket.destroy();
    });
  });
}
