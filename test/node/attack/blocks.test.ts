/**
 * Header blocks that are tricks of HPACK or that are held, and bytes that arrive one at a time, over cleartext and TLS: the
 * server refuses them or handles them with bounded memory, and a well-behaved client beside them is served.
 */
import { describe, expect, it } from "vitest";
import { createCertificates, hasOpenssl } from "../../support/certificate.ts";
import { block, Flag, frame, indexed, RawConnection, Reset, request, settings, Type } from "../../support/frames.ts";
import type { Health } from "./victim.ts";
import { behave, startVictim } from "./victim-process.ts";

const MIB = 1024 * 1024;
const INITIAL_WINDOW_SIZE = 4;
const END = Flag.endHeaders | Flag.endStream;
const EMPTY_MESSAGE = Buffer.alloc(5);
/** A request for a response of 1 MiB. */
const BIG = Buffer.from([0, 0, 0, 0, 5, 0x0a, 3, 0x62, 0x69, 0x67]);
/** A field without a value, as a reference of one byte to the static table. */
const TINY_FIELD = 0x80 | 33;
const ODD = (index: number): number => 2 * index + 1;

describe.each([
  ["cleartext", false],
  ["TLS", true],
])("over %s, a server", (_, overTls) => {
  const test = it.skipIf(overTls && !hasOpenssl);
  const connect = (port: number, greeting = settings()): Promise<RawConnection> =>
    RawConnection.open(port, greeting, overTls);

  /** Runs an attack beside a well-behaved client. Returns the state of the server before and after it. */
  async function attack(run: (port: number) => Promise<unknown>): Promise<[before: Health, after: Health]> {
    const tls = overTls ? createCertificates().server : undefined;
    const victim = await startVictim({ tls, limits: {}, watchMemory: true });
    const before = await victim.health();
    const neighbour = behave(victim.port, overTls);
    await run(victim.port);
    expect(await neighbour.end()).toBeGreaterThan(0);
    const after = await victim.health();
    expect(after.uncaught).toEqual([]);
    return [before, after];
  }

  test("decodes strings that Huffman coding makes as short as possible", async () => {
    await attack(async (port) => {
      const connection = await connect(port);
      // A value of 480 bytes for 768 times "0", whose code has five bits.
      const zeros = Buffer.concat([Buffer.of(0, 1, 0x61, 0xff, 0xe1, 2), Buffer.alloc(480)]);
      for (let i = 0; i < 50; i++) {
        connection.write(frame(Type.headers, END, ODD(i), Buffer.concat([request("None"), zeros])));
        await connection.frame(Type.headers, ODD(i));
      }
    });
  });

  test("refuses streams beyond 64 MiB of held header fields and responses, and returns the memory", async () => {
    const held: number[] = [];
    const [before, after] = await attack(async (port) => {
      const connection = await connect(port, settings([INITIAL_WINDOW_SIZE, 0]));
      const head = Buffer.concat([request(), Buffer.alloc(80, TINY_FIELD)]);
      for (let i = 0; i < 100; i++) {
        const id = ODD(i);
        connection.write(frame(Type.headers, Flag.endHeaders, id, head), frame(Type.data, Flag.endStream, id, BIG));
        const isAnswered = ({ type, stream }: { type: number; stream: number }): boolean =>
          stream === id && (type === Type.headers || type === Type.reset);
        await expect.poll(() => connection.received.some(isAnswered), { timeout: 20_000, interval: 1 }).toBe(true);
      }
      const refused = connection.received.filter(({ type }) => type === Type.reset);
      expect(new Set(refused.map(({ payload }) => payload.readUInt32BE()))).toEqual(new Set([Reset.refused]));
      held.push(100 - refused.length);
      expect(held[0]).toBeGreaterThan(50);
      expect(held[0]).toBeLessThan(70);
      connection.tear();
    });
    expect(after.peakLiveBytes).toBeLessThan(before.liveBytes + (64 + 64) * MIB);
  });

  test("holds little for 100 streams of 1,700 tiny fields each, which no handler takes", async () => {
    const [before, after] = await attack(async (port) => {
      for (let connections = 0; connections < 20; connections++) {
        const connection = await connect(port, settings([INITIAL_WINDOW_SIZE, 0]));
        const head = Buffer.concat([request("GreetTogether"), Buffer.alloc(1_700, TINY_FIELD)]);
        const requests = Array.from({ length: 100 }, (_, i) => frame(Type.headers, Flag.endHeaders, ODD(i), head));
        connection.write(...requests);
        await connection.frame(Type.headers, ODD(99));
      }
    });
    expect(after.peakLiveBytes).toBeLessThan(before.liveBytes + 64 * MIB);
    expect(after.running).toBe(0);
  });

  test("serves requests that replace the whole table of header fields each time", async () => {
    const [before, after] = await attack(async (port) => {
      const connection = await connect(port);
      for (let i = 0; i < 2_000; i++) {
        const fields = Array.from({ length: 60 }, (_, k) => indexed(`x-${i}-${k}`, "x".repeat(40)));
        const head = Buffer.concat([request("Greet"), ...fields]);
        connection.write(
          frame(Type.headers, Flag.endHeaders, ODD(i), head),
          frame(Type.data, Flag.endStream, ODD(i), EMPTY_MESSAGE),
        );
        if (i % 50 === 49) await connection.frame(Type.headers, ODD(i));
      }
      const ends = connection.received.filter(({ type, flags }) => type === Type.headers && (flags & 1) === 1);
      expect(ends).toHaveLength(2_000);
      connection.tear();
    });
    expect(after.started - before.started).toBeGreaterThan(2_000);
    expect(after.peakLiveBytes).toBeLessThan(before.liveBytes + 32 * MIB);
  });

  test("serves requests that arrive in chunks of one byte", async () => {
    const [before, after] = await attack(async (port) => {
      const connection = await connect(port);
      connection.socket.setNoDelay(true);
      // The acknowledgement of SETTINGS must not come within a frame.
      await connection.frame(Type.settings);
      connection.polite = false;
      for (let i = 0; i < 500; i++) {
        const bytes = Buffer.concat([
          frame(Type.headers, Flag.endHeaders, ODD(i), block(...FIELDS)),
          frame(Type.data, Flag.endStream, ODD(i), EMPTY_MESSAGE),
        ]);
        await connection.flood(bytes.length, (at) => bytes.subarray(at, at + 1), 1);
        await connection.frame(Type.data, ODD(i));
      }
    });
    expect(after.started - before.started).toBeGreaterThan(500);
    expect(after.peakLiveBytes).toBeLessThan(before.liveBytes + 32 * MIB);
  });
});

const FIELDS: [string, string][] = [
  [":method", "POST"],
  [":scheme", "http"],
  [":path", "/greet.v1.GreetService/Greet"],
  [":authority", "a"],
  ["content-type", "application/grpc"],
  ["te", "trailers"],
];
