/**
 * Calls of a connection that is lost: none is executed twice without a policy, and those that no server has processed are sent
 * again (RFC 9113, section 8.7; gRFC A6).
 */
import type { Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { Code } from "triple-es";
import { describe, expect, it } from "vitest";
import { NO_BYTES } from "../../../runtime/src/call/bytes.ts";
import { RpcError } from "../../../runtime/src/call/error.ts";
import { Metadata } from "../../../runtime/src/call/metadata.ts";
import { ConnectionBackoff } from "../../../runtime/src/connection/attempts.ts";
import type { Connect, Connection } from "../../../runtime/src/connection/connection.ts";
import { Http2Connection } from "../../../runtime/src/connection/http2-connection.ts";
import { Pool } from "../../../runtime/src/connection/pool.ts";
import { ConnectionSocket } from "../../../runtime/src/connection/socket.ts";
import { streamBody, WholeBody } from "../../../runtime/src/http/body.ts";
import type { HttpRequest } from "../../../runtime/src/http/exchange.ts";
import { ExchangeFailure, errorOf, UNOBSERVED } from "../../../runtime/src/http/transparent-retry.ts";
import { DEFAULT_LIMITS } from "../../../runtime/src/http2/limits.ts";
import { ServerRole } from "../../../runtime/src/http2/server.ts";
import type { Stream, StreamSink } from "../../../runtime/src/http2/stream.ts";
import { MemorySocket } from "../../../runtime/src/node/io/duplex-pair.ts";
import { runs } from "../../http2/support/runs.ts";
import { cuttableProxy } from "../../support/cuttable-proxy.ts";
import { pause } from "../../support/pause.ts";
import { arriving, connectGreeter, failureOf, startServer } from "../../support/server.ts";

/** The loss of a connection. */
interface Cut {
  readonly direction: "requests" | "responses";
  /** The number of bytes that pass in that direction. */
  readonly bytes: number;
  /** Turns of the event loop in which no more bytes pass before the connection is lost. */
  readonly stallTurns: number;
  readonly how: "reset" | "end";
}

interface Scenario {
  readonly cut: Cut;
  readonly maxStreams: number;
  readonly maxConnections: number;
  readonly answerTurns: number;
  readonly calls: readonly { readonly startTurn: number; readonly bytes: number; readonly isStreamed: boolean }[];
}

const TARGET = { origin: new URL("http://server"), socketPath: undefined, tls: undefined, peer: "server" };
const OK = Object.assign(new Metadata({ "content-type": "text/plain" }).freeze());

/** Discards the request and answers it after a number of turns. */
class Answering implements StreamSink {
  readonly #stream: Stream;
  constructor(stream: Stream, early: readonly Uint8Array[], turns: number) {
    this.#stream = stream;
    stream.sink = this;
    for (const bytes of early) this.onData(bytes);
    const answer = (left: number): void => {
      if (left > 0) setImmediate(answer, left - 1);
      else stream.respond(200, OK, NO_BYTES, undefined, true);
    };
    answer(turns);
  }
  onResponse(): void {}
  onData(bytes: Uint8Array): void {
    this.#stream.consumed(bytes.length);
  }
  onEnd(): void {}
  onReset(): void {}
  onDrain(): void {}
  onRespondedEarly(): void {}
  onClosed(): void {}
}

/** Makes connections in memory to a server, and cuts the first one. Counts executions by path, and HEADERS of the first one. */
class Network {
  readonly executed = new Map<string, number>();
  /** The requests whose header blocks have left the client on the first connection. */
  sent = 0;
  #connections = 0;
  readonly #scenario: Scenario;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
  }

  readonly connect: Connect = (owner) => {
    const [near, nearFar] = MemorySocket.pair();
    const [far, farNear] = MemorySocket.pair();
    const isFirst = this.#connections++ === 0;
    if (isFirst) this.#countHeaders(near);
    this.#forward(nearFar, farNear, isFirst ? this.#scenario.cut : undefined);
    this.#serve(far);
    return new Promise<Connection>((resolve, reject) => {
      const connection = new Http2Connection(near as unknown as Socket, TARGET, owner, {
        onReady: () => resolve(connection),
        onFailed: () => reject(new RpcError(Code.Unavailable, "lost before SETTINGS")),
      });
    });
  };

  #serve(socket: MemorySocket): void {
    const io = new ConnectionSocket(socket as unknown as Socket);
    const handler = {
      onEvent: () => {},
      onRequest: (stream: Stream, { path }: { readonly path: string }, early: readonly Uint8Array[]) => {
        this.executed.set(path, (this.executed.get(path) ?? 0) + 1);
        new Answering(stream, early, this.#scenario.answerTurns);
      },
    };
    const limits = { ...DEFAULT_LIMITS, maxStreams: this.#scenario.maxStreams };
    const { connection } = new ServerRole(handler, { output: io, limits });
    io.attach(connection, { onPeerEnd: () => io.end(), onFlushed: () => true, onClose: () => {} });
  }

  /** Passes bytes in both directions until the cut. The server then still handles all that has reached it. */
  #forward(client: MemorySocket, server: MemorySocket, cut: Cut | undefined): void {
    let isCut = false;
    const lose = async (how: Cut["how"], stallTurns: number): Promise<void> => {
      isCut = true;
      client.pause();
      server.pause();
      for (let i = 0; i < stallTurns; i++) await turn();
      server.end();
      if (how === "end") {
        client.end();
        // The client handles the end before its unread requests are answered by a reset.
        for (let i = 0; i < 3; i++) await turn();
      }
      client.destroy();
    };
    const pass = (from: MemorySocket, to: MemorySocket, direction: Cut["direction"]): void => {
      let left = cut?.direction === direction ? cut.bytes : Number.POSITIVE_INFINITY;
      from.on("data", (chunk: Buffer) => {
        if (isCut) return;
        if (chunk.length < left) {
          left -= chunk.length;
          // The sender may reuse its memory once the chunk has been read.
          to.write(Buffer.from(chunk));
          return;
        }
        to.write(Buffer.from(chunk.subarray(0, left)));
        if (cut !== undefined) void lose(cut.how, cut.stallTurns);
      });
      from.on("end", () => to.end());
      from.on("error", () => {});
    };
    pass(client, server, "requests");
    pass(server, client, "responses");
  }

  /** Counts the header blocks that the client writes. */
  #countHeaders(socket: MemorySocket): void {
    let bytes = Buffer.alloc(0);
    let at = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".length;
    const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
    socket.write = (chunk: Uint8Array, ...rest: unknown[]) => {
      bytes = Buffer.concat([bytes, chunk]);
      for (; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) if (bytes[at + 3] === 1) this.sent++;
      return write(chunk, ...rest);
    };
  }
}

function requestOf(path: string, bytes: number, isStreamed: boolean): HttpRequest {
  const chunk = new Uint8Array(bytes);
  const body = isStreamed
    ? streamBody(
        (async function* () {
          yield chunk;
        })(),
      )
    : new WholeBody(chunk);
  return { method: "POST", path, version: "2", headers: new Metadata(), body, signal: undefined };
}

async function run(scenario: Scenario) {
  const network = new Network(scenario);
  const pool = new Pool(network.connect, {
    peer: "server",
    maxConnections: scenario.maxConnections,
    idleTimeoutMs: 60_000,
    verifyAfterMs: 60_000,
    pingIntervalMs: undefined,
    pingTimeoutMs: 60_000,
    waitForReady: true,
    backoff: new ConnectionBackoff(0),
  });
  const exchange = pool.observed(UNOBSERVED);
  const make = async ({ startTurn, bytes, isStreamed }: Scenario["calls"][number], index: number) => {
    for (let i = 0; i < startTurn; i++) await turn();
    return exchange(requestOf(`/${index}`, bytes, isStreamed));
  };
  const results = await Promise.allSettled(scenario.calls.map(make));
  pool.destroy(new RpcError(Code.Canceled, "the test is over"));
  return { network, results };
}

const scenarios: fc.Arbitrary<Scenario> = fc.record({
  cut: fc.record({
    direction: fc.constantFrom("requests" as const, "responses" as const),
    bytes: fc.oneof(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 100_000 })),
    stallTurns: fc.integer({ min: 0, max: 6 }),
    how: fc.constantFrom("reset" as const, "end" as const),
  }),
  maxStreams: fc.integer({ min: 1, max: 6 }),
  maxConnections: fc.integer({ min: 1, max: 2 }),
  answerTurns: fc.integer({ min: 0, max: 8 }),
  calls: fc.array(
    fc.record({
      startTurn: fc.integer({ min: 0, max: 12 }),
      bytes: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 40_000 })),
      isStreamed: fc.boolean(),
    }),
    { minLength: 1, maxLength: 12 },
  ),
});

/** The second connection sends the requests that waited at once, in several writes, while memory of the first becomes free. */
const MANY_WAITING: Scenario = {
  cut: { direction: "responses", bytes: 56, stallTurns: 0, how: "reset" },
  maxStreams: 5,
  maxConnections: 1,
  answerTurns: 1,
  calls: [31_552, 39_999, 135, 33_063, 0, 0, 0, 0, 26_442, 0].map((bytes) => ({
    startTurn: bytes === 0 ? 0 : 1,
    bytes,
    isStreamed: false,
  })),
};

describe("the calls of a connection that is lost", () => {
  it("are never executed twice, and succeed if no server has processed them, whatever byte is the last", async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, async (scenario) => {
        const { network, results } = await run(scenario);
        for (const [path, count] of network.executed) expect(`${path}: ${count}`).toBe(`${path}: 1`);
        const failed = results.filter(({ status }) => status === "rejected");
        results.forEach(({ status }, index) => {
          if (status === "fulfilled") expect(network.executed.get(`/${index}`)).toBe(1);
        });
        // Only requests whose header blocks have left the client may have been processed.
        expect(failed.length).toBeLessThanOrEqual(network.sent);
      }),
      { ...runs(400), examples: [[MANY_WAITING]] },
    );
  });

  it("fail with the error of the connection, except those that waited for a stream", async () => {
    const server = await startServer(
      {
        async greet({ name }) {
          ran.push(name);
          if (ran.length === 6) proxy.cut();
          if (ran.length <= 6 && name !== "warm") await pause(20);
          return { greeting: name };
        },
      },
      { limits: { maxStreams: 5 } },
    );
    const ran: string[] = [];
    const proxy = await cuttableProxy(server.port);
    const client = connectGreeter(`http://${proxy.address}`, { maxConnections: 1 });
    await client.greet({ name: "warm" });
    const names = Array.from({ length: 10 }, (_, index) => `call ${index}`);
    const results = await Promise.allSettled(names.map((name) => client.greet({ name })));
    expect(ran.sort()).toEqual(["warm", ...names].sort());
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
    for (const result of results) {
      if (result.status === "rejected") expect(result.reason).toBeInstanceOf(RpcError);
    }
  });

  it("fail with errors of their own, of which no cause names another call", async () => {
    let running = 0;
    const run = (): Promise<never> => {
      running += 1;
      if (running === 2) proxy.cut();
      return new Promise(() => {});
    };
    const server = await startServer({ greet: run, greetTogether: run });
    const proxy = await cuttableProxy(server.port);
    const client = connectGreeter(`http://${proxy.address}`, { maxConnections: 1 });
    const calls = { Greet: client.greet({}), GreetTogether: client.greetTogether(arriving("Ada")) };
    for (const [name, call] of Object.entries(calls)) {
      const methods = new Set<string | undefined>();
      for (let error: unknown = await failureOf(call); error instanceof RpcError; error = error.cause)
        methods.add(error.method);
      methods.delete(undefined);
      expect([...methods]).toEqual([`/greet.v1.GreetService/${name}`]);
    }
  });
});

describe("a request stream that fails with the error of another call", () => {
  it("is not sent again, although no server had processed the other call", async () => {
    let requests = 0;
    const calls = new RpcError(Code.Unavailable, "another call was refused");
    const network = new Network({
      cut: { direction: "requests", bytes: 1_000_000, stallTurns: 0, how: "end" },
      maxStreams: 5,
      maxConnections: 1,
      answerTurns: 100_000,
      calls: [],
    });
    const pool = new Pool(network.connect, {
      peer: "server",
      maxConnections: 1,
      idleTimeoutMs: 60_000,
      verifyAfterMs: 60_000,
      pingIntervalMs: undefined,
      pingTimeoutMs: 60_000,
      waitForReady: true,
      backoff: new ConnectionBackoff(0),
    });
    const body = streamBody(
      (async function* () {
        requests++;
        yield new Uint8Array(10);
        throw errorOf(new ExchangeFailure(calls, "unprocessed"));
      })(),
    );
    const failing = pool.observed(UNOBSERVED)({ ...requestOf("/0", 0, false), body });
    await expect(failing).rejects.toBe(calls);
    expect(requests).toBe(1);
    pool.destroy(calls);
  });
});
