/**
 * Header blocks that are tricks of HPACK or that are held, and bytes that arrive one at a time: the server refuses them or
 * handles them with bounded memory, and a well-behaved client beside them is served. TLS is below all that is tested here,
 * but for the sizes of the chunks that arrive.
 */
import { expect, it } from "vitest";
import { hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import { block, Flag, frame, indexed, RawConnection, Reset, request, settings, Type } from "../../support/frames.ts";
import type { Health } from "./victim.ts";
import { behave, startVictim, type Victim } from "./victim-process.ts";

const MIB = 1024 * 1024;
const INITIAL_WINDOW_SIZE = 4;
const END = Flag.endHeaders | Flag.endStream;
const EMPTY_MESSAGE = Buffer.alloc(5);
/** A request for a response of 1 MiB. */
const BIG = Buffer.from([0, 0, 0, 0, 5, 0x0a, 3, 0x62, 0x69, 0x67]);
/** A field without a value, as a reference of one byte to the static table. */
const TINY_FIELD = 0x80 | 33;
const ODD = (index: number): number => 2 * index + 1;

const FIELDS: [string, string][] = [
  [":method", "POST"],
  [":scheme", "http"],
  [":path", "/greet.v1.GreetService/Greet"],
  [":authority", "a"],
  ["content-type", "application/grpc"],
  ["te", "trailers"],
];

/**
 * Runs an attack beside a well-behaved client. Returns the state of the server before it, and after it, while the connections
 * of the attack are open.
 */
async function attack(
  run: (victim: Victim) => Promise<unknown>,
  overTls = false,
): Promise<[before: Health, after: Health]> {
  const victim = await startVictim({ tls: overTls ? sharedCertificates().server : undefined, limits: {} });
  const before = await victim.health();
  const neighbour = behave(victim.port, overTls);
  await run(victim);
  expect(await neighbour.end()).toBeGreaterThan(0);
  // Buffers whose objects one collection finalizes are freed by the next one.
  await victim.health();
  const after = await victim.health();
  expect(after.uncaught).toEqual([]);
  return [before, after];
}

it("a server decodes strings that Huffman coding makes as short as possible", async () => {
  await attack(async ({ port }) => {
    const connection = await RawConnection.open(port);
    // A value of 480 bytes for 768 times "0", whose code has five bits.
    const zeros = Buffer.concat([Buffer.of(0, 1, 0x61, 0xff, 0xe1, 2), Buffer.alloc(480)]);
    for (let i = 0; i < 50; i++) {
      connection.write(frame(Type.headers, END, ODD(i), Buffer.concat([request("None"), zeros])));
      await connection.frame(Type.headers, ODD(i));
    }
  });
});

it("a server refuses streams beyond 64 MiB of held header fields and responses", async () => {
  const [before, after] = await attack(async ({ port }) => {
    const connection = await RawConnection.open(port, settings([INITIAL_WINDOW_SIZE, 0]));
    const head = Buffer.concat([request(), Buffer.alloc(80, TINY_FIELD)]);
    for (let i = 0; i < 100; i++) {
      const id = ODD(i);
      connection.write(frame(Type.headers, Flag.endHeaders, id, head), frame(Type.data, Flag.endStream, id, BIG));
      await Promise.race([connection.frame(Type.headers, id), connection.frame(Type.reset, id)]);
    }
    const refused = connection.received.filter(({ type }) => type === Type.reset);
    expect(new Set(refused.map(({ payload }) => payload.readUInt32BE()))).toEqual(new Set([Reset.refused]));
    expect(100 - refused.length).toBeGreaterThan(50);
    expect(100 - refused.length).toBeLessThan(70);
  });
  expect(after.liveBytes).toBeLessThan(before.liveBytes + (64 + 16) * MIB);
});

it("a server holds little for 100 streams of 1,700 tiny fields each, which no handler takes", async () => {
  const [before, after] = await attack(async ({ port }) => {
    for (let connections = 0; connections < 5; connections++) {
      const connection = await RawConnection.open(port, settings([INITIAL_WINDOW_SIZE, 0]));
      const head = Buffer.concat([request("GreetTogether"), Buffer.alloc(1_700, TINY_FIELD)]);
      const requests = Array.from({ length: 100 }, (_, i) => frame(Type.headers, Flag.endHeaders, ODD(i), head));
      connection.write(...requests);
      await connection.frame(Type.headers, ODD(99));
    }
  });
  expect(after.liveBytes).toBeLessThan(before.liveBytes + 12 * MIB);
  expect(after.running).toBe(0);
});

it("a server serves requests that replace the whole table of header fields each time", async () => {
  const [before, after] = await attack(async ({ port }) => {
    const connection = await RawConnection.open(port);
    for (let i = 0; i < 500; i++) {
      const fields = Array.from({ length: 60 }, (_, k) => indexed(`x-${i}-${k}`, "x".repeat(40)));
      const head = Buffer.concat([request("Greet"), ...fields]);
      connection.write(
        frame(Type.headers, Flag.endHeaders, ODD(i), head),
        frame(Type.data, Flag.endStream, ODD(i), EMPTY_MESSAGE),
      );
      if (i % 50 === 49) await connection.frame(Type.headers, ODD(i));
    }
    const ends = connection.received.filter(({ type, flags }) => type === Type.headers && (flags & 1) === 1);
    expect(ends).toHaveLength(500);
  });
  expect(after.started - before.started).toBeGreaterThan(500);
  expect(after.liveBytes).toBeLessThan(before.liveBytes + 4 * MIB);
});

// A record of TLS for each byte makes sure that the chunks are not joined.
it.skipIf(!hasOpenssl)("a server serves requests that arrive in chunks of one byte (needs openssl)", async () => {
  const [before, after] = await attack(async ({ port }) => {
    const connection = await RawConnection.open(port, settings(), true);
    connection.socket.setNoDelay(true);
    // The acknowledgement of SETTINGS must not come within a frame.
    await connection.frame(Type.settings);
    connection.polite = false;
    for (let i = 0; i < 100; i++) {
      const bytes = Buffer.concat([
        frame(Type.headers, Flag.endHeaders, ODD(i), block(...FIELDS)),
        frame(Type.data, Flag.endStream, ODD(i), EMPTY_MESSAGE),
      ]);
      await connection.flood(bytes.length, (at) => bytes.subarray(at, at + 1), 1);
      await connection.frame(Type.data, ODD(i));
    }
  }, true);
  expect(after.started - before.started).toBeGreaterThan(100);
  expect(after.liveBytes).toBeLessThan(before.liveBytes + 8 * MIB);
});
