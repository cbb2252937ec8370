/**
 * Attacks on a server over HTTP/2 that work by their amount, with TLS and without: handlers and memory stay within their
 * limits, and a well-behaved client on another connection is not affected. `server-limits.test.ts` has the exact reactions.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { createTransport } from "triple-es/node";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createGreetServiceClient } from "../../../examples/gen/greet/v1/greet_triple.ts";
import type { Certificates } from "../../support/certificate.ts";
import { compiled } from "../../support/compiled.ts";
import { block, Flag, frame, indexed, RawConnection, request, settings, Type, words } from "../../support/frames.ts";
import { openSocket, secure } from "../../support/server.ts";
import type { Health, Orders } from "./victim.ts";

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
const full = (stream: number): Buffer => message(stream, Buffer.alloc(16_384));
const reset = (stream: number): Buffer => frame(Type.reset, 0, stream, words(8));

/** Runs all attacks; over TLS if certificates can be created. */
export function attackServer(certificates?: Certificates): void {
  let child: ChildProcess;
  let port: number;
  let before: Health;
  let transport: ReturnType<typeof createTransport>;
  const overTls = certificates !== undefined;
  const connect = (greeting?: Uint8Array): Promise<RawConnection> => RawConnection.open(port, greeting, overTls);

  beforeAll(async () => {
    child = fork(compiled("test/node/attack/victim.ts"), {
      execArgv: ["--expose-gc"],
      // glibc returns freed memory to the system. Otherwise it keeps more of it after each large allocation.
      env: { ...process.env, MALLOC_TRIM_THRESHOLD_: "131072", MALLOC_MMAP_THRESHOLD_: "131072" },
    });
    child.send({ tls: certificates?.server } satisfies Orders);
    [port] = (await once(child, "message")) as [number];
    const tls = certificates && { ca: certificates.ca };
    transport = createTransport({ baseUrl: `${overTls ? "https" : "http"}://127.0.0.1:${port}`, tls });
    // Warm-up, so that later measurements do not include the compiler.
    for (let i = 0; i < 500; i++) await behave();
    // The warm-up also lets V8 grow the young generation as for a busy client.
    await pour(10, 50_000);
    before = await health();
  });
  afterAll(async () => {
    await transport.close();
    child.disconnect();
  });

  async function health(): Promise<Health> {
    child.send("how are you?");
    const [answer] = (await once(child, "message")) as [Health];
    return answer;
  }

  async function behave(): Promise<void> {
    const { greeting } = await createGreetServiceClient(transport).greet({ name: "Ada" }, { timeoutMs: 100_000 });
    expect(greeting).toBe("Hello, Ada!");
  }

  /**
   * Sends messages without bytes on the given number of streams at once, and returns the number that the server has counted
   * on each.
   */
  async function pour(streams: number, perStream: number): Promise<string[]> {
    const session = connectHttp2(`${overTls ? "https" : "http"}://127.0.0.1:${port}`, { rejectUnauthorized: false });
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
    const during = await health();
    connection.socket.destroy();
    return during;
  }

  afterEach(async () => {
    await behave();
    await expect.poll(async () => (await health()).liveBytes).toBeLessThan(before.liveBytes + 32 * MIB);
    // The process keeps pages of memory that it has released, so that the resident memory says less.
    await expect.poll(async () => (await health()).residentBytes).toBeLessThan(before.residentBytes + 128 * MIB);
    await expect.poll(async () => (await health()).running).toBe(0);
    await expect.poll(async () => (await health()).sockets).toBeLessThanOrEqual(before.sockets);
    expect((await health()).uncaught).toEqual([]);
  });

  describe("streams that are opened and reset", () => {
    it("do not start more handlers than may run and may be cancelled (rapid reset)", async () => {
      const { started } = before;
      const during = await attack(async (connection) => {
        await connection.flood(100_000, (i) => Buffer.concat([open(ODD(i)), message(ODD(i)), reset(ODD(i))]));
        await connection.end();
      });
      expect(during.started - started).toBeLessThan(10_000);
      expect(during.peak).toBeLessThanOrEqual(201);
    });

    it.each<[name: string, provoke: (stream: number) => Uint8Array[]]>([
      ["a window update of nothing", (id) => [open(id), frame(Type.windowUpdate, 0, id, words(0))]],
      ["a window beyond all measure", (id) => [open(id), frame(Type.windowUpdate, 0, id, words(0x7fffffff))]],
      ["data after the end", (id) => [open(id), message(id, EMPTY_MESSAGE, Flag.endStream), message(id)]],
      ["headers after the end", (id) => [open(id), message(id, EMPTY_MESSAGE, Flag.endStream), open(id)]],
      ["a priority of the wrong size", (id) => [open(id), frame(Type.priority, 0, id, Buffer.alloc(4))]],
      [
        "a stream that depends on itself",
        (id) => [open(id), frame(Type.priority, 0, id, Buffer.concat([words(id), Buffer.alloc(1)]))],
      ],
      ["more padding than there is data", (id) => [open(id), frame(Type.data, Flag.padded, id, Buffer.from([255, 0]))]],
      [
        "another length than was announced",
        (id) => [
          frame(Type.headers, Flag.endHeaders, id, request("Greet", ["content-length", "9"])),
          message(id, EMPTY_MESSAGE, Flag.endStream),
        ],
      ],
    ])("are limited if the server resets them because of %s", async (_, provoke) => {
      const { started } = await health();
      const during = await attack((connection) => connection.flood(10_000, (i) => Buffer.concat(provoke(ODD(i)))));
      expect(during.started - started).toBeLessThan(5_000);
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

  describe("streams that stay open", () => {
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

  describe("headers", () => {
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
      const { started } = await health();
      const block = Buffer.concat([request(), Buffer.alloc(16_000, 0x80 | 33)]);
      await attack((connection) =>
        connection.flood(100, (i) => frame(Type.headers, Flag.endHeaders, ODD(i), block), 10),
      );
      // The calls of the well-behaved client.
      expect((await health()).started - started).toBeLessThanOrEqual(10);
    });
  });

  describe("floods of", () => {
    it.each<[name: string, make: (id: number) => Uint8Array]>([
      ["headers alone", (id) => frame(Type.headers, END, id, request("None"))],
      ["a small response", (id) => Buffer.concat([open(id), message(id, EMPTY_MESSAGE, Flag.endStream)])],
      ["a refusal", (id) => open(id, "GreetTogether")],
    ])("requests for %s that is not read, with open windows, take bounded memory", async (_, make) => {
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
    });

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
        connection.write(open(1, "None"), ...Array.from({ length: 15 }, () => full(1)));
        expect((await connection.frame(Type.reset, 1)).payload.readUInt32BE()).toBe(0);
        const types = connection.received.filter(({ stream }) => stream === 1).map(({ type }) => type);
        expect(types.indexOf(Type.headers)).toBeLessThan(types.indexOf(Type.reset));
        // A gibibyte, regardless of windows and of the reset.
        await connection.flood(65_536, () => full(1));
        await connection.end();
      });
      expect(during.residentBytes).toBeLessThan(before.residentBytes + 64 * MIB);
    });

    it("a million bytes of a request in DATA frames of one byte each are received", async () => {
      await attack(async (connection) => {
        // The flood would delay the acknowledgement of these, for which the victim waits a second.
        await connection.frame(Type.settings);
        connection.write(open(1, "GreetTogether"));
        // 200,000 messages without bytes, in a million frames.
        const batch = Buffer.concat(Array.from({ length: 10_000 }, () => message(1, Buffer.alloc(1))));
        await connection.sendWithinWindow(1, batch, 10_000, 100);
        connection.write(message(1, Buffer.alloc(0), Flag.endStream));
        const { payload } = await connection.frame(Type.data, 1);
        expect(payload.subarray(7).toString()).toBe("200000");
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

  it.each([1, 100])(
    "two million messages without bytes, on %i streams, do not delay other clients",
    async (streams) => {
      const perStream = 2_000_000 / streams;
      const during = await attack(async () => {
        const counts = await pour(streams, perStream);
        expect(new Set(counts)).toEqual(new Set([String(perStream)]));
      });
      // Two batches may be processed in one turn.
      expect(during.mostPerTurn).toBeLessThanOrEqual(2 * 2_048);
      expect(during.longestBlockMs).toBeLessThan(MAX_BLOCK_MS);
    },
  );

  describe("connections", () => {
    it.each<[name: string, leave: (connection: RawConnection) => void]>([
      ["send GOAWAY during a call", (connection) => connection.write(frame(Type.goaway, 0, 0, words(0, 0)))],
      ["send GOAWAY with an error", (connection) => connection.write(frame(Type.goaway, 0, 0, words(0, 2)))],
      ["are torn down in the middle of a call", (connection) => connection.tear()],
      ["break the rules", (connection) => connection.write(frame(Type.data, 0, 0, Buffer.alloc(5)))],
    ])("are released if they %s", async (_, leave) => {
      for (let i = 0; i < 300; i++) {
        const connection = await connect();
        connection.write(open(1, "GreetTogether"), message(1));
        leave(connection);
        setTimeout(() => connection.socket.destroy(), 20);
      }
    });

    it.runIf(overTls)("are released if they offer an unknown protocol or abort their handshake", async () => {
      const refused = async (): Promise<void> => {
        await expect(secure(await openSocket(port), { ALPNProtocols: ["spdy/9"] })).rejects.toThrow();
      };
      for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 100 }, refused));
      // The first bytes of a ClientHello.
      const hello = Buffer.from("16030100c8010000c40303", "hex");
      for (let i = 0; i < 200; i++) (await openSocket(port)).end(hello);
      for (let i = 0; i < 200; i++) {
        const socket = await openSocket(port);
        socket.write(hello, () => socket.resetAndDestroy());
      }
    });

    it("with random frames do not affect the others", async () => {
      let seed = 42;
      const random = (below: number): number => {
        seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
        return Math.floor((seed / 2 ** 32) * below);
      };
      for (let i = 0; i < 300; i++) {
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

  describe("paths", () => {
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
      const { started } = await health();
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
      expect((await health()).started).toBe(started);
      connection.socket.destroy();
    });

    it("are refused if the host differs from the authority", async () => {
      const { started } = await health();
      const connection = await connect();
      const head = request("Greet", ["host", "elsewhere.example"]);
      connection.write(frame(Type.headers, Flag.endHeaders, 1, head), message(1, EMPTY_MESSAGE, Flag.endStream));
      await connection.frame(Type.headers, 1);
      expect((await health()).started).toBe(started);
      connection.socket.destroy();
    });
  });
}
