/** A client and a server of the engine, with random chunks, delays and settings between them: no byte is lost. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { Setting } from "../../runtime/src/http2/codes.ts";
import { settings } from "./support/frames.ts";
import { bytesOf, frozen, Heard, RecordedClient, RecordedServer } from "./support/recorder.ts";
import { runs } from "./support/runs.ts";

interface Plan {
  /** The sizes of the data of a call, in both directions. */
  readonly up: readonly number[];
  readonly down: readonly number[];
  readonly hasTrailers: boolean;
  /** The side that cancels, and the time. Default: neither. */
  readonly cancel: "client" | "server" | undefined;
}

const size = fc.oneof(
  { weight: 4, arbitrary: fc.nat(300) },
  fc.nat(40_000),
  fc.constantFrom(0, 16_384, 65_535, 65_536),
);
const plan: fc.Arbitrary<Plan> = fc.record({
  up: fc.array(size, { maxLength: 4 }),
  down: fc.array(size, { maxLength: 4 }),
  hasTrailers: fc.boolean(),
  cancel: fc.oneof(
    { weight: 8, arbitrary: fc.constant(undefined) },
    fc.constantFrom("client" as const, "server" as const),
  ),
});
const tuning = fc.constantFrom(
  settings([Setting.InitialWindowSize, 0]),
  settings([Setting.InitialWindowSize, 100]),
  settings([Setting.InitialWindowSize, 1_000_000]),
  settings([Setting.HeaderTableSize, 0]),
  settings([Setting.HeaderTableSize, 4_096]),
  settings([Setting.MaxConcurrentStreams, 2], [Setting.InitialWindowSize, 5_000]),
);

/** One call, as recorded on both sides. */
interface Exchange {
  readonly plan: Plan;
  readonly client: Heard;
  readonly sent: Buffer;
  readonly answer: Buffer;
}

/** Sends chunks one after another while they are accepted. */
function send(
  stream: { sendData(bytes: Uint8Array, isEnd: boolean): boolean } | undefined,
  pieces: Buffer[],
  isEnd: boolean,
): boolean {
  while (pieces.length > 0) {
    const piece = pieces.shift() as Buffer;
    if (!stream?.sendData(piece, isEnd && pieces.length === 0)) return pieces.length === 0;
  }
  return true;
}

const pieces = (sizes: readonly number[], seed: number): Buffer[] =>
  sizes.map((length, i) => Buffer.from(bytesOf(length, seed + i)));

/**
 * Runs calls over a connection whose chunks have the lengths in `cuts`, until both sides are idle. Returns the recorded
 * calls.
 */
function run(
  plans: readonly Plan[],
  cuts: readonly number[],
  tunings: readonly Buffer[],
): { exchanges: Exchange[]; served: Map<number, Heard>; sides: [RecordedClient, RecordedServer] } {
  const server = new RecordedServer({ maxStreams: 4 }, false);
  const client = new RecordedClient(false);
  // A client that has not received the settings might exceed their limits.
  client.receive(server.bytes());
  const served = new Map<number, Heard>();
  const exchanges: Exchange[] = plans.map((one, i) => {
    const heard = new Heard();
    const up = pieces(one.up, i);
    const sent = Buffer.concat(up);
    const headers = frozen("x-number", String(i), "x-same", "1");
    heard.stream = client.role.open({ method: "POST", path: "/a", headers }, heard, undefined, up.length === 0);
    const more = (): void => void send(heard.stream, up, true);
    heard.onDrained = more;
    if (up.length > 0) more();
    if (one.cancel === "client") heard.onResponse = () => heard.stream?.reset(8);
    return { plan: one, client: heard, sent, answer: Buffer.concat(pieces(one.down, 100 + i)) };
  });
  server.onRequest = (stream, heard) => {
    const number = Number(heard.block?.fields[1]);
    served.set(number, heard);
    const exchange = exchanges[number] as Exchange;
    const down = pieces(exchange.plan.down, 100 + number);
    const trailers = exchange.plan.hasTrailers ? frozen("x-end", "1") : undefined;
    const begin = (): void => {
      if (exchange.plan.cancel === "server") {
        stream.reset(2);
        return;
      }
      stream.respond(200, frozen("x-number", String(number)), undefined, undefined, false);
      const more = (): void => {
        if (!send(stream, down, trailers === undefined) || down.length > 0) return;
        if (trailers !== undefined) stream.sendTrailers(trailers);
        else if (exchange.plan.down.length === 0) stream.sendData(new Uint8Array(0), true);
      };
      heard.onDrained = more;
      more();
    };
    heard.onEnd = (ends) => {
      heard.ended = true;
      heard.trailers = ends;
      begin();
    };
    heard.onClosed = () => {
      heard.closed++;
      server.role.finished();
    };
  };
  let turn = 0;
  const wires = [
    { from: client, to: server, waiting: Buffer.alloc(0) },
    { from: server, to: client, waiting: Buffer.alloc(0) },
  ];
  // At the end, all settings that delay data are relaxed.
  const tune = [...tunings, settings([Setting.InitialWindowSize, 1_000_000], [Setting.MaxConcurrentStreams, 4])];
  for (let quiet = 0; quiet < 4; turn++) {
    let moved = false;
    for (const wire of wires) {
      const produced = wire.from.bytes(turn % 5 === 4 ? 0 : 30_000);
      if (produced.length > 0) wire.waiting = Buffer.concat([wire.waiting, produced]);
      if (wire.waiting.length === 0) continue;
      moved = true;
      const length = Math.min(wire.waiting.length, cuts[turn % cuts.length] ?? 1_000);
      wire.to.receive(wire.waiting.subarray(0, length));
      wire.waiting = wire.waiting.subarray(length);
    }
    // The server changes its settings between two frames.
    const mayTune = (turn % 7 === 6 || !moved) && wires[1]?.waiting.length === 0;
    const next = mayTune ? tune.shift() : undefined;
    if (next !== undefined) client.receive(next);
    quiet = moved || next !== undefined ? 0 : quiet + 1;
    if (turn > 400_000) throw new Error("the two do not come to rest");
  }
  return { exchanges, served, sides: [client, server] };
}

it("no byte is lost or out of order, and all windows are whole at rest", () => {
  fc.assert(
    fc.property(
      fc.array(plan, { minLength: 1, maxLength: 8 }),
      fc
        .array(
          fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 1, max: 40 }) }, fc.integer({ min: 1_000, max: 70_000 })),
          { minLength: 1, maxLength: 5 },
        )
        .map((cuts) => [...cuts, 70_000]),
      fc.array(tuning, { maxLength: 3 }),
      (plans, cuts, tunings) => {
        const { exchanges, served, sides } = run(plans, cuts, tunings);
        for (const side of sides) expect(side.over).toBeUndefined();
        exchanges.forEach(({ plan: one, client, sent, answer }, i) => {
          const heard = served.get(i);
          expect(heard?.bytes.equals(sent)).toBe(true);
          expect(heard?.closed).toBe(1);
          expect(client.closed).toBe(1);
          if (one.cancel !== undefined) return;
          expect(client.bytes.equals(answer)).toBe(true);
          expect([client.ended, client.trailers]).toEqual([true, one.hasTrailers ? ["x-end", "1"] : undefined]);
          expect(client.block?.fields).toEqual(["x-number", String(i)]);
        });
        for (const { connection } of sides) expect([connection.streams.size, connection.hasMore]).toEqual([0, false]);
      },
    ),
    runs(400),
  );
});
