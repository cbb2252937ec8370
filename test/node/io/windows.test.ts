/**
 * Receive windows (RFC 9113, sections 5.2.2 and 6.9): every received byte is credited or held by a reader, however an exchange
 * ends. The imported assertion compares them after every step; these tests make the steps.
 */
import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { Code, type HttpRequest, Metadata, RpcError } from "triple-es";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { GreetRequestSchema } from "../../../examples/gen/greet/v1/greet_pb.ts";
import { Collecting } from "../../../runtime/src/connection/collecting.ts";
import { ConnectionExchange } from "../../../runtime/src/connection/exchange.ts";
import type { IncomingBody } from "../../../runtime/src/connection/incoming-body.ts";
import { MemoryBudget, MemoryShare } from "../../../runtime/src/connection/memory-budget.ts";
import { SwapList } from "../../../runtime/src/connection/swap-list.ts";
import { streamBody, WholeBody } from "../../../runtime/src/http/body.ts";
import { ClientRole } from "../../../runtime/src/http2/client.ts";
import { FrameType } from "../../../runtime/src/http2/codes.ts";
import type { EngineConnection } from "../../../runtime/src/http2/connection.ts";
import { DEFAULT_LIMITS } from "../../../runtime/src/http2/limits.ts";
import { ServerRole } from "../../../runtime/src/http2/server.ts";
import type { EngineStream, Stream } from "../../../runtime/src/http2/stream.ts";
import { type RequestOwner, ServedRequest } from "../../../runtime/src/node/server/http2/request.ts";
import {
  data,
  END_HEADERS,
  END_STREAM,
  frame,
  goAway,
  headers,
  PADDED,
  PREFACE,
  parseFrames,
  REQUEST,
  RESPONSE,
  rst,
  settings,
  settingsAck,
} from "../../http2/support/frames.ts";
import { runs } from "../../http2/support/runs.ts";
import { envelope } from "../../support/connection.ts";
import { connectGreeter, signalled, startServer } from "../../support/server.ts";
import { outstanding, windowOf } from "../../support/windows.ts";

const MIB = 1024 * 1024;

/** A step of the peer, or of the program that reads. `at` selects an exchange. */
type Step =
  | {
      readonly type: "data";
      readonly at: number;
      readonly size: number;
      readonly padding: number;
      readonly end: boolean;
    }
  | { readonly type: "deliver"; readonly bytes: number }
  | { readonly type: "time"; readonly ms: number }
  | { readonly type: "open" | "goAway" }
  | {
      readonly type: "trailers" | "reset" | "read" | "collect" | "leave" | "fail" | "answer" | "answer in chunks";
      readonly at: number;
    };

const at = fc.nat(7);
const size = fc.oneof({ weight: 3, arbitrary: fc.constant(16_384) }, fc.nat(300), fc.constant(0));
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ type: fc.constant("open" as const) }) },
  {
    weight: 14,
    arbitrary: fc.record({
      type: fc.constant("data" as const),
      at,
      size,
      padding: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.constantFrom(1, 2, 256)),
      end: fc.nat(9).map((one) => one === 0),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("deliver" as const),
      bytes: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.nat(70_000)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("time" as const), ms: fc.constantFrom(50, 150, 2_500) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constantFrom(
        "trailers" as const,
        "reset" as const,
        "read" as const,
        "read" as const,
        "collect" as const,
        "leave" as const,
        "fail" as const,
        "answer" as const,
        "answer in chunks" as const,
      ),
      at,
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("goAway" as const) }) },
);

/** A peer that obeys the windows. The bytes that it sends wait until they are delivered. */
class Peer {
  readonly #connection: EngineConnection;
  #sent = Buffer.alloc(0);
  #window = 65_535;
  readonly #windows = new Map<number, number>();
  readonly ended = new Set<number>();

  constructor(connection: EngineConnection) {
    this.#connection = connection;
  }

  send(...frames: readonly Uint8Array[]): void {
    this.#sent = Buffer.concat([this.#sent, ...frames]);
  }

  open(id: number): void {
    this.#windows.set(id, 256 * 1024);
  }

  data(id: number, { size, padding, end }: Extract<Step, { type: "data" }>): void {
    const window = this.#windows.get(id);
    const whole = Math.min(size, 16_384 - padding) + padding;
    if (window === undefined || this.ended.has(id) || whole > Math.min(window, this.#window)) return;
    this.#window -= whole;
    this.#windows.set(id, window - whole);
    if (end) this.ended.add(id);
    const flags = end ? END_STREAM : 0;
    if (padding === 0) this.send(data(id, new Uint8Array(whole), flags));
    else this.send(frame(FrameType.Data, flags | PADDED, id, [padding - 1, ...new Uint8Array(whole - 1)]));
  }

  end(id: number, bytes: Uint8Array): void {
    if (!this.#windows.has(id) || this.ended.has(id)) return;
    this.ended.add(id);
    this.send(bytes);
  }

  /** Delivers bytes, and reads all output. */
  deliver(bytes = Number.POSITIVE_INFINITY): void {
    const chunk = this.#sent.subarray(0, bytes);
    this.#sent = this.#sent.subarray(chunk.length);
    this.#connection.receive(chunk);
    const output = Buffer.concat(this.#connection.take(16 * MIB).parts);
    const frames = parseFrames(
      output.subarray(output.subarray(0, 3).equals(PREFACE.subarray(0, 3)) ? PREFACE.length : 0),
    );
    for (const { type, streamId, payload } of frames) {
      if (type !== FrameType.WindowUpdate) continue;
      const increment = Buffer.from(payload).readUInt32BE();
      if (streamId === 0) this.#window += increment;
      else this.#windows.set(streamId, (this.#windows.get(streamId) ?? 0) + increment);
    }
  }

  /** The window of the connection that this peer knows of. */
  get window(): number {
    return this.#window;
  }
}

const output = { wake: () => {}, slab: () => new Uint8Array(64 * 1024) };
const ignore = (): void => {};

/** Steps of a reader on one body. */
class Reader {
  readonly #body: IncomingBody;
  readonly #chunks: AsyncIterator<Uint8Array>;
  #isBusy = false;

  constructor(body: IncomingBody) {
    this.#body = body;
    this.#chunks = body[Symbol.asyncIterator]();
  }

  act(type: Step["type"]): void {
    if (type === "leave") void this.#chunks.return?.();
    if (this.#isBusy) return;
    if (type === "read") this.#wait(this.#chunks.next());
    else if (type === "collect") this.#wait(this.#body.bytes(600_000));
  }

  #wait(promise: Promise<unknown>): void {
    this.#isBusy = true;
    const done = (): void => {
      this.#isBusy = false;
    };
    promise.then(done, done);
  }

  /** Compares the bytes that the body holds with those that the engine counts as held. */
  check(stream: Stream): void {
    if (stream.closed || stream.ended || this.#body.collecting) return;
    const { discardable, unconsumed } = stream as EngineStream;
    expect(unconsumed).toBe(discardable === undefined ? this.#body.unread : 0);
  }
}

describe("a connection whose exchanges end in every way", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("has its whole window at rest: servers", async () => {
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 80 }), serve), runs(300));
  });

  it("has its whole window at rest: clients", async () => {
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 80 }), call), runs(300));
  });
});

async function serve(steps: readonly Step[]): Promise<void> {
  const requests: { request: ServedRequest; reader: Reader | undefined; hasAnswer: boolean }[] = [];
  const budget = new MemoryBudget(8 * MIB);
  const memory = new MemoryShare(budget, { reclaim: ignore });
  const role = new ServerRole(
    {
      onEvent: (event) => {
        if (event.type === "pong") for (const request of owner.requests) request.onPong();
      },
      onRequest(stream, block, early) {
        const request = new ServedRequest(owner, stream, block, early);
        stream.sink = request;
        owner.requests.add(request);
        const { incoming } = request;
        requests.push({ request, reader: incoming && new Reader(incoming), hasAnswer: false });
      },
    },
    { output, limits: DEFAULT_LIMITS },
  );
  const { connection } = role;
  const owner: RequestOwner = {
    role,
    memory,
    peer: { address: undefined } as unknown as RequestOwner["peer"],
    collecting: new Collecting(),
    requests: new SwapList<ServedRequest>(),
    aborted: undefined,
    draining: new AbortController().signal,
    fits: () => true,
    hold: () => true,
  };
  const peer = new Peer(connection);
  peer.send(PREFACE, settings(), settingsAck());
  peer.deliver();
  const answer = (one: (typeof requests)[number], inChunks: boolean): void => {
    if (one.hasAnswer) return;
    one.hasAnswer = true;
    const bytes = new Uint8Array(10);
    const body = inChunks
      ? streamBody(
          (async function* () {
            yield bytes;
          })(),
        )
      : new WholeBody(bytes);
    one.request.answer({ status: 200, headers: new Metadata(), body, trailers: new Metadata({ "grpc-status": "0" }) });
  };
  let id = -1;
  for (const one of steps) {
    const chosen = "at" in one ? 2 * one.at + 1 : 0;
    const served = requests[(chosen - 1) / 2];
    if (one.type === "open" && id < 15) {
      id += 2;
      peer.open(id);
      peer.send(headers(id, REQUEST));
    } else if (one.type === "data") peer.data(chosen, one);
    else if (one.type === "trailers") peer.end(chosen, headers(chosen, ["x-a", "1"], END_HEADERS | END_STREAM));
    else if (one.type === "reset") peer.end(chosen, rst(chosen));
    else if (one.type === "deliver") peer.deliver(one.bytes);
    else if (one.type === "time") await vi.advanceTimersByTimeAsync(one.ms);
    else if (one.type === "goAway") peer.send(goAway(0));
    else if (one.type === "answer" || one.type === "answer in chunks") {
      if (served !== undefined) answer(served, one.type === "answer in chunks");
    } else if (one.type === "fail") served?.request.abort(new RpcError(Code.Unavailable, "aborted"));
    else served?.reader?.act(one.type);
    await Promise.resolve();
  }
  peer.deliver();
  for (const { request, reader, hasAnswer } of requests) if (!hasAnswer) reader?.check(request.stream);
  for (const one of requests) answer(one, false);
  // The rest of the requests is discarded, and the streams are reset.
  for (let i = 0; i < 3; i++) {
    await vi.advanceTimersByTimeAsync(2_500);
    peer.deliver();
  }
  expect(connection.isOver).toBe(false);
  expect(connection.streams.size).toBe(0);
  expectWhole(connection, peer);
  expect(budget.held).toBe(0);
}

async function call(steps: readonly Step[]): Promise<void> {
  const collecting = new Collecting();
  const lost = (): RpcError => new RpcError(Code.Unavailable, "lost");
  const role = new ClientRole(
    { onEvent: ignore },
    { output, limits: DEFAULT_LIMITS, scheme: "http", authority: "localhost" },
  );
  const { connection } = role;
  const peer = new Peer(connection);
  peer.send(settings(), settingsAck());
  peer.deliver();
  const exchanges: { exchange: ConnectionExchange; abort: AbortController; reader: Reader | undefined }[] = [];
  const open = (): void => {
    if (connection.state !== "open" || exchanges.length === 8) return;
    const request = { method: "POST", path: "/a" } as HttpRequest;
    const exchange = new ConnectionExchange(
      {
        collecting,
        peer: "peer",
        open: true,
        isDestroyed: false,
        lost,
        metadataOf: (raw) => Metadata.fromRaw(raw),
        onExchangeClosed: ignore,
      },
      request,
      undefined,
    );
    const one = { exchange, abort: new AbortController(), reader: undefined as Reader | undefined };
    const head = { method: "POST", path: "/a", headers: { raw: [], frozen: false } };
    exchange.stream = role.open(head, exchange, undefined, true);
    exchange.follow(one.abort.signal);
    exchange.response.then(({ body }) => {
      one.reader = new Reader(body as IncomingBody);
    }, ignore);
    exchanges.push(one);
    const { id } = exchange.stream;
    peer.open(id);
    peer.send(headers(id, RESPONSE));
  };
  for (const one of steps) {
    const chosen = "at" in one ? 2 * one.at + 1 : 0;
    const called = exchanges[(chosen - 1) / 2];
    if (one.type === "open") open();
    else if (one.type === "data") peer.data(chosen, one);
    else if (one.type === "trailers") peer.end(chosen, headers(chosen, ["x-a", "1"], END_HEADERS | END_STREAM));
    else if (one.type === "reset") peer.end(chosen, rst(chosen));
    else if (one.type === "deliver") peer.deliver(one.bytes);
    else if (one.type === "goAway") peer.send(goAway(2 * exchanges.length - 1));
    else if (one.type === "fail") called?.abort.abort(new RpcError(Code.Canceled, "canceled"));
    else called?.reader?.act(one.type);
    await Promise.resolve();
  }
  peer.deliver();
  for (const { exchange, reader } of exchanges) reader?.check(exchange.stream as Stream);
  for (const { abort } of exchanges) abort.abort(new RpcError(Code.Canceled, "canceled"));
  peer.deliver();
  expect(connection.isOver).toBe(false);
  expect(connection.streams.size).toBe(0);
  expectWhole(connection, peer);
}

/** Checks that a connection without streams has announced its whole window, or is about to. */
function expectWhole(connection: EngineConnection, peer: Peer): void {
  const window = windowOf(connection);
  expect(outstanding(window)).toBe(0);
  expect(peer.window + window.credit).toBe(window.size);
}

describe("calls that are answered before their end, and whose requests are completed", () => {
  /** Makes a call, and returns its gRPC status, or its HTTP status. */
  function post(
    session: ClientHttp2Session,
    path: string,
    headers: OutgoingHttpHeaders,
    body: Uint8Array,
  ): Promise<string> {
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    });
    return new Promise((resolve, reject) => {
      let status = "";
      const onHeaders = (fields: Readonly<Record<string, unknown>>): void => {
        status = String(fields["grpc-status"] ?? fields[":status"] ?? status);
      };
      stream.on("response", onHeaders).on("trailers", onHeaders).on("error", reject).resume();
      stream.on("close", () => resolve(status));
      stream.end(body);
    });
  }

  const greet = "/greet.v1.GreetService/Greet";

  it.each<[name: string, path: string, headers: OutgoingHttpHeaders, size: number, status: string]>([
    ["an unknown method", "/no.Such/Method", {}, 200_000, "12"],
    ["an unknown method, and little data", "/no.Such/Method", {}, 60_000, "12"],
    ["an unknown content type", greet, { "content-type": "application/grpc+none" }, 200_000, "415"],
    ["a client stream whose handler throws", "/greet.v1.GreetService/GreetTogether", {}, 200_000, "7"],
    ["an interceptor that refuses", greet, { "x-refused": "1" }, 200_000, "16"],
    ["an invalid timeout", greet, { "grpc-timeout": "soon" }, 200_000, "3"],
    ["a message that is too large", greet, {}, 5_000_000, "8"],
    ["a wrong path of sub-protocol A", "/no.Such/Method", { "content-type": "application/json" }, 200_000, "404"],
  ])("leave the window of the connection whole: %s", async (_, path, headers, bytes, status) => {
    const { baseUrl } = await startServer(
      {
        greetTogether: async () => {
          throw new RpcError(Code.PermissionDenied, "no");
        },
      },
      {
        interceptors: [
          (next) => async (request) => {
            if (request.headers.has("x-refused")) throw new RpcError(Code.Unauthenticated, "no");
            return next(request);
          },
        ],
      },
    );
    // Node counts the requests that it has not sent completely.
    const session = connect(baseUrl, { maxSessionMemory: 1_000 });
    onTestFinished(() => session.destroy());
    const message = envelope(toBinary(GreetRequestSchema, create(GreetRequestSchema, { name: "a".repeat(bytes) })));
    // Together they are larger than the window of a connection, for messages of 200 kB.
    for (let i = 0; i < 24; i++) {
      const received = await post(session, path, headers, message);
      expect([i, received]).toEqual([i, status]);
    }
    expect(await post(session, greet, {}, envelope(new Uint8Array(0)))).toBe("0");
    await expect.poll(() => session.state.remoteWindowSize).toBeGreaterThanOrEqual(MIB / 2);
  });
});

describe("streams that are read slowly", () => {
  // Twenty streams hold 5 MiB, more than the window of the connection.
  const STREAMS = 20;
  const names = Array.from({ length: 5 }, () => "a".repeat(64_000));

  it("stop no other call of their connection: uploads to a server", async () => {
    const gate = signalled();
    let started = 0;
    const { baseUrl } = await startServer({
      greetTogether: async (requests) => {
        let size = 0;
        for await (const { name } of requests) {
          if (size === 0) started++;
          size += name.length;
          await gate.promise;
        }
        return { greeting: String(size) };
      },
    });
    const greeter = connectGreeter(baseUrl, { maxConnections: 1 });
    const uploads = Array.from({ length: STREAMS }, () =>
      greeter.greetTogether(
        (async function* () {
          for (const name of names) yield { name };
        })(),
      ),
    );
    await expect.poll(() => started).toBe(STREAMS);
    for (let i = 0; i < 10; i++) expect(await greeter.greet({ name: "b".repeat(60_000) })).toBeDefined();
    gate.resolve();
    for (const { greeting } of await Promise.all(uploads)) expect(greeting).toBe("320000");
  });

  it("stop no other call of their connection: responses to a client", async () => {
    const { baseUrl } = await startServer();
    const greeter = connectGreeter(baseUrl, { maxConnections: 1 });
    const streams = Array.from({ length: STREAMS }, () => greeter.greetEach({ names })[Symbol.asyncIterator]());
    for (const stream of streams) await stream.next();
    for (let i = 0; i < 10; i++) expect(await greeter.greet({ name: "b".repeat(60_000) })).toBeDefined();
    for (const stream of streams) {
      let messages = 1;
      while ((await stream.next()).done !== true) messages++;
      expect(messages).toBe(names.length);
    }
  });
});
