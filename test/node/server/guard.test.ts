/**
 * The guard of a server's HTTP/2 connection: each time limit, with a clock of the test and an engine without a socket; and
 * the limits that the engine counts, over a socket.
 */
import type { Socket } from "node:net";
import { Code, type RpcError } from "triple-es";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { IncomingBody } from "../../../runtime/src/connection/incoming-body.ts";
import { MemoryBudget, MemoryShare } from "../../../runtime/src/connection/memory-budget.ts";
import { SwapList } from "../../../runtime/src/connection/swap-list.ts";
import { ErrorCode, FrameType } from "../../../runtime/src/http2/codes.ts";
import type { EngineConnection } from "../../../runtime/src/http2/connection.ts";
import { DEFAULT_LIMITS } from "../../../runtime/src/http2/limits.ts";
import { ServerRole } from "../../../runtime/src/http2/server.ts";
import type { Stream } from "../../../runtime/src/http2/stream.ts";
import { ConnectionGuard, type WatchedRequest } from "../../../runtime/src/node/server/http2/guard.ts";
import {
  type ConnectionLimits,
  resolveLimits,
  sweepIntervalMs,
} from "../../../runtime/src/node/server/listener/limits.ts";
import {
  data,
  headers,
  PREFACE,
  parseFrames,
  ping,
  REQUEST,
  settings,
  settingsAck,
} from "../../http2/support/frames.ts";
import { Flag, frame, RawConnection, Reset, request, Type, words } from "../../support/frames.ts";
import { connectGreeter, signalled, startServer } from "../../support/server.ts";

const MIB = 1024 * 1024;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance", "setImmediate"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/**
 * A request from the point of view of the guard: the received bytes of its message, and the unsent bytes of its response.
 */
class FakeRequest implements WatchedRequest {
  readonly reset = vi.fn();
  readonly stop = vi.fn();
  index = 0;
  collecting = false;
  received = 0;
  isOver = false;
  unsent = 0;
  get stream(): Stream {
    return this as unknown as Stream;
  }
  get incoming(): IncomingBody {
    return this as unknown as IncomingBody;
  }
}

/** A connection with a guard. */
class Guarded {
  readonly destroySocket = vi.fn();
  readonly leave = vi.fn<() => void>();
  aborted: RpcError | undefined;
  readonly abort = vi.fn<(reason: RpcError) => void>((reason) => {
    this.aborted = reason;
  });
  readonly socket = { destroy: this.destroySocket, writableLength: 0 };
  readonly requests = new SwapList<FakeRequest>();
  readonly role: ServerRole;
  readonly connection: EngineConnection;
  readonly guard: ConnectionGuard;
  /** The code of the GOAWAY that ended the connection. */
  ended: number | undefined;
  #calls = 0;

  constructor(limits: ConnectionLimits = {}, acknowledges = true) {
    const output = { wake: () => {}, slab: () => new Uint8Array(64 * 1024) };
    const handler = {
      onRequest: (stream: Stream) => stream.respond(200, { raw: [], frozen: false }, undefined, undefined, true),
      onEvent: (event: { readonly type: string; readonly code?: number }) => {
        if (event.type === "over") this.ended = event.code;
      },
    };
    this.role = new ServerRole(handler, { output, limits: DEFAULT_LIMITS });
    this.connection = this.role.connection;
    const socket = this.socket as unknown as Socket;
    this.guard = new ConnectionGuard(this.connection, socket, this.requests, resolveLimits(limits), this);
    this.receive(PREFACE, settings());
    if (acknowledges) this.receive(settingsAck());
  }

  receive(...frames: readonly Uint8Array[]): void {
    for (const bytes of frames) this.connection.receive(bytes);
  }

  /** Returns the payloads of the PINGs since the last call. */
  pings(): Uint8Array[] {
    const bytes = Buffer.concat(this.connection.take(MIB).parts);
    return parseFrames(bytes).flatMap(({ type, flags, payload }) =>
      type === FrameType.Ping && flags === 0 ? [payload] : [],
    );
  }

  /** Advances the clock, with a sweep every second and at the end. */
  pass(ms: number): void {
    for (let left = ms; left > 0; left -= 1_000) {
      vi.advanceTimersByTime(Math.min(left, 1_000));
      this.guard.sweep(performance.now());
    }
  }

  open(request = new FakeRequest()): FakeRequest {
    this.requests.add(request);
    return request;
  }

  /** A call without a duration. */
  call(): void {
    this.receive(headers(2 * this.#calls++ + 1, REQUEST, 0x5));
    this.role.finished();
  }
}

describe("limits", () => {
  it("have the defaults that the documents name", () => {
    expect(resolveLimits()).toEqual({
      maxStreams: 100,
      maxHandlers: 200,
      resetBurst: 900,
      resetsPerSecond: 30,
      headersTimeoutMs: 10_000,
      firstCallTimeoutMs: 30_000,
      messageTimeoutMs: 60_000,
      messageIdleMs: 15_000,
      stallTimeoutMs: 60_000,
      idleTimeoutMs: 300_000,
      http1IdleTimeoutMs: 60_000,
      pingIntervalMs: 300_000,
      pingTimeoutMs: 20_000,
      maxConnectionAgeMs: Number.POSITIVE_INFINITY,
      maxConnectionAgeGraceMs: Number.POSITIVE_INFINITY,
    });
  });

  it.each([0, -1, Number.NaN, "5000"])("are refused with their name if they are %j", (value) => {
    expect(() => resolveLimits({ stallTimeoutMs: value as number })).toThrow(
      new TypeError(`limits.stallTimeoutMs must be more than 0, not ${typeof value === "string" ? '"5000"' : value}`),
    );
  });

  it("are refused if their name is unknown", () => {
    const given = { maxStream: 5 } as object;
    expect(() => resolveLimits(given)).toThrow('limits: there is no "maxStream", did you mean "maxStreams"?');
  });

  it("determine how often connections are checked", () => {
    expect(sweepIntervalMs(resolveLimits())).toBe(1_000);
    expect(sweepIntervalMs(resolveLimits({ messageIdleMs: 500 }))).toBe(50);
    expect(sweepIntervalMs(resolveLimits({ messageIdleMs: 1 }))).toBe(5);
    // A fraction would be refused by node:http as its connectionsCheckingInterval.
    expect(sweepIntervalMs(resolveLimits({ messageIdleMs: 1_233 }))).toBe(124);
    expect(sweepIntervalMs(resolveLimits({ maxHandlers: 1, resetsPerSecond: 1 }))).toBe(1_000);
  });
});

describe("a connection", () => {
  it("whose SETTINGS are not acknowledged is ended after headersTimeoutMs", () => {
    const guarded = new Guarded({ headersTimeoutMs: 5_000 }, false);
    guarded.pass(5_000);
    expect(guarded.ended).toBeUndefined();
    guarded.pass(1_000);
    expect(guarded.ended).toBe(ErrorCode.SettingsTimeout);
  });

  it("without a first call is closed after firstCallTimeoutMs", () => {
    const guarded = new Guarded({ firstCallTimeoutMs: 5_000 });
    guarded.pass(5_000);
    expect(guarded.leave).not.toHaveBeenCalled();
    guarded.pass(1_000);
    expect(guarded.leave).toHaveBeenCalled();
  });

  it("is closed after idleTimeoutMs without calls, counted from the last call", () => {
    const guarded = new Guarded({ firstCallTimeoutMs: 5_000, idleTimeoutMs: 20_000 });
    for (let i = 0; i < 3; i++) {
      guarded.call();
      guarded.pass(20_000);
    }
    expect(guarded.leave).not.toHaveBeenCalled();
    guarded.pass(2_000);
    expect(guarded.leave).toHaveBeenCalled();
  });

  it("accepts no further calls at its maximum age, plus or minus a tenth, and aborts those that run after the grace period", () => {
    const guarded = new Guarded({ maxConnectionAgeMs: 100_000, maxConnectionAgeGraceMs: 10_000 });
    guarded.open();
    guarded.pass(89_000);
    expect(guarded.leave).not.toHaveBeenCalled();
    guarded.pass(22_000);
    expect(guarded.leave).toHaveBeenCalled();
    guarded.pass(11_000);
    expect(guarded.abort).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: Code.Unavailable }));
    guarded.pass(3_000);
    expect(guarded.ended).toBe(ErrorCode.NoError);
  });

  it("is not idle during a call, but must acknowledge a PING once in pingIntervalMs", () => {
    const guarded = new Guarded({ idleTimeoutMs: 5_000, pingIntervalMs: 20_000, pingTimeoutMs: 6_000 });
    guarded.open();
    guarded.pass(20_000);
    expect(guarded.pings()).toEqual([]);
    guarded.pass(2_000);
    const [first] = guarded.pings();
    guarded.receive(ping(first, Flag.ack));
    guarded.pass(22_000);
    expect(guarded.pings()).toHaveLength(1);
    guarded.pass(6_000);
    expect(guarded.ended).toBeUndefined();
    guarded.pass(2_000);
    expect(guarded.ended).toBe(ErrorCode.Cancel);
    expect(guarded.leave).not.toHaveBeenCalled();
  });

  it.each<[name: string, bytes: Uint8Array]>([
    ["a header block", headers(1, REQUEST, 0)],
    ["a frame header", headers(1, REQUEST).subarray(0, 5)],
    ["a HEADERS frame", headers(1, REQUEST).subarray(0, 20)],
    ["a SETTINGS frame", settings([4, 1]).subarray(0, 12)],
  ])("is ended after headersTimeoutMs if it begins %s and does not end it, also during a running call", (_, bytes) => {
    for (const isBusy of [false, true]) {
      const guarded = new Guarded({ headersTimeoutMs: 5_000 });
      if (isBusy) guarded.open();
      guarded.pass(2_000);
      guarded.receive(bytes);
      guarded.pass(5_000);
      expect(guarded.ended).toBeUndefined();
      guarded.pass(1_000);
      expect(guarded.ended).toBe(ErrorCode.EnhanceYourCalm);
    }
  });

  it("is ended after headersTimeoutMs if it sends a HEADERS frame byte by byte", () => {
    const guarded = new Guarded({ headersTimeoutMs: 5_000 });
    guarded.open();
    for (const byte of headers(1, REQUEST).subarray(0, 7)) {
      expect(guarded.ended).toBeUndefined();
      guarded.receive(Uint8Array.of(byte));
      guarded.pass(1_000);
    }
    expect(guarded.ended).toBe(ErrorCode.EnhanceYourCalm);
  });

  it("has no time limit for a DATA frame", () => {
    const guarded = new Guarded({ headersTimeoutMs: 5_000, idleTimeoutMs: 100_000 });
    guarded.receive(headers(1, REQUEST), data(1, new Uint8Array(10)).subarray(0, 12));
    guarded.pass(20_000);
    expect(guarded.ended).toBeUndefined();
  });

  it("is destroyed if it reads nothing for stallTimeoutMs", () => {
    const guarded = new Guarded({ stallTimeoutMs: 5_000 });
    guarded.call();
    for (let i = 0; i < 10; i++) {
      guarded.connection.take(MIB);
      guarded.socket.writableLength = 50;
      guarded.pass(1_000);
    }
    guarded.pass(4_000);
    expect(guarded.destroySocket).not.toHaveBeenCalled();
    guarded.pass(2_000);
    expect(guarded.destroySocket).toHaveBeenCalled();
  });
});

describe("the message of a unary call", () => {
  const limits = { messageIdleMs: 3_000, messageTimeoutMs: 10_000 };

  it("is ended after messageIdleMs without a byte", () => {
    const guarded = new Guarded(limits);
    const call = guarded.open(Object.assign(new FakeRequest(), { collecting: true, received: 10 }));
    // The first sweep starts the timer, because bytes have been received.
    guarded.pass(4_000);
    expect(call.stop).not.toHaveBeenCalled();
    guarded.pass(1_000);
    expect(call.stop.mock.calls[0]?.[0]).toMatchObject({
      code: Code.DeadlineExceeded,
      rawMessage: "no more of the message has arrived within 3000 ms",
    });
  });

  it.each([
    [100, 10],
    [MIB, 20],
    [2 * MIB + 1, 30],
  ])("is ended after messageTimeoutMs for each MiB if it arrives slowly: %i bytes after %i s", (bytes, seconds) => {
    const guarded = new Guarded(limits);
    const call = guarded.open(Object.assign(new FakeRequest(), { collecting: true, received: bytes }));
    const dribble = (count: number): void => {
      for (let i = 0; i < count; i++) {
        call.received++;
        guarded.pass(1_000);
      }
    };
    dribble(seconds + 1);
    expect(call.stop).not.toHaveBeenCalled();
    dribble(1);
    expect(call.stop.mock.calls[0]?.[0]).toMatchObject({
      rawMessage: `the message has not arrived within ${seconds * 1_000} ms`,
    });
  });

  it("is the only one with such a limit: messages of a stream may have any distance", () => {
    const guarded = new Guarded(limits);
    const call = guarded.open();
    guarded.pass(60_000);
    expect(call.stop).not.toHaveBeenCalled();
    expect(call.reset).not.toHaveBeenCalled();
  });
});

describe("when memory is short, what has stalled for 5 s is ended", () => {
  it.each<[name: string, state: Partial<FakeRequest>, end: "reset" | "stop"]>([
    ["an upload", { collecting: true, received: MIB }, "stop"],
    ["a response", { isOver: true, unsent: MIB }, "reset"],
    ["a stream of messages", { unsent: MIB }, "reset"],
  ])("%s", (_, state, end) => {
    const budget = new MemoryBudget(2 * MIB);
    const guarded = new Guarded();
    const memory = new MemoryShare(budget, guarded.guard);
    const call = guarded.open(Object.assign(new FakeRequest(), state));
    memory.take(MIB);
    const other = new MemoryShare(budget, { reclaim: () => {} });
    guarded.pass(5_000);
    expect(other.take(MIB)).toBe(false);
    expect(call[end]).not.toHaveBeenCalled();
    guarded.pass(2_000);
    call[end].mockImplementation(() => memory.release(MIB));
    expect(other.take(MIB)).toBe(true);
    expect(call[end]).toHaveBeenCalledOnce();
  });

  it("a socket whose client takes nothing", () => {
    const guarded = new Guarded();
    guarded.socket.writableLength = 1;
    guarded.pass(5_000);
    guarded.guard.reclaim();
    expect(guarded.destroySocket).not.toHaveBeenCalled();
    guarded.pass(2_000);
    guarded.guard.reclaim();
    expect(guarded.destroySocket).toHaveBeenCalled();
  });
});

describe("a response", () => {
  const limits = { stallTimeoutMs: 5_000 };
  const answered = (bytes: number): FakeRequest => Object.assign(new FakeRequest(), { isOver: true, unsent: bytes });

  it.each([
    [1, 5],
    [MIB, 5],
    [2 * MIB + 1, 15],
  ])("is reset after stallTimeoutMs for each MiB if it is not read: %i bytes after %i s", (bytes, seconds) => {
    const guarded = new Guarded(limits);
    const call = guarded.open(answered(bytes));
    guarded.pass(1_000 * (seconds + 1));
    expect(call.reset).not.toHaveBeenCalled();
    guarded.pass(1_000);
    expect(call.reset).toHaveBeenCalledWith(ErrorCode.Cancel);
  });

  it("is not reset if it is read slowly", () => {
    const guarded = new Guarded(limits);
    const call = guarded.open(answered(100));
    for (; call.unsent > 0; call.unsent--) guarded.pass(4_000);
    guarded.pass(60_000);
    expect(call.reset).not.toHaveBeenCalled();
  });

  it("is not limited in time while a stream waits for its reader, but its end is", () => {
    const guarded = new Guarded(limits);
    const call = guarded.open(Object.assign(new FakeRequest(), { unsent: 100 }));
    guarded.pass(60_000);
    call.isOver = true;
    guarded.pass(5_000);
    expect(call.reset).not.toHaveBeenCalled();
    guarded.pass(2_000);
    expect(call.reset).toHaveBeenCalledWith(ErrorCode.Cancel);
  });
});

describe("over a socket", () => {
  beforeEach(() => {
    vi.useRealTimers();
  });

  it("a client learns how many streams it may open, and further ones are refused", async () => {
    const { port } = await startServer({}, { limits: { maxStreams: 2 } });
    const openThree = (connection: RawConnection): void => {
      for (const stream of [1, 3, 5]) {
        connection.write(frame(Type.headers, Flag.endHeaders, stream, request("GreetTogether")));
      }
    };
    const hasty = await RawConnection.open(port);
    hasty.polite = false;
    openThree(hasty);
    expect((await hasty.frame(Type.reset, 5)).payload).toEqual(words(Reset.refused));
    expect(hasty.closed).toBe(false);
    expect((await hasty.frame(Type.settings)).payload.toString("hex")).toContain("000300000002");
  });

  it.each([
    [Number.POSITIVE_INFINITY, "00037fffffff"],
    [2 ** 32, "00037fffffff"],
    [0.5, "000300000001"],
  ])("maxStreams of %d lets a client open streams", async (maxStreams, setting) => {
    const { port, baseUrl } = await startServer({}, { limits: { maxStreams, maxHandlers: Number.POSITIVE_INFINITY } });
    const connection = await RawConnection.open(port);
    expect((await connection.frame(Type.settings)).payload.toString("hex")).toContain(setting);
    const greeter = connectGreeter(baseUrl, {}, { timeoutMs: 5_000 });
    expect(await greeter.greet({ name: "Ada" })).toMatchObject({ greeting: "Hello, Ada!" });
  });

  it("handlers of cancelled calls that go on are counted against the limit", async () => {
    const gate = signalled();
    let started = 0;
    const { port } = await startServer(
      {
        greet: async () => {
          started++;
          await gate.promise;
          return {};
        },
      },
      { limits: { maxHandlers: 3 } },
    );
    const connection = await RawConnection.open(port);
    for (const stream of [1, 3, 5]) {
      connection.write(frame(Type.headers, Flag.endHeaders, stream, request()));
      connection.write(frame(Type.data, Flag.endStream, stream, Buffer.alloc(5)));
      await expect.poll(() => started).toBe((stream + 1) / 2);
      connection.write(frame(Type.reset, 0, stream, words(Reset.cancel)));
    }
    connection.write(frame(Type.headers, Flag.endHeaders, 7, request()));
    expect((await connection.frame(Type.reset, 7)).payload).toEqual(words(Reset.refused));
    gate.resolve();
    expect(started).toBe(3);
  });

  it("a client that cancels too often learns why its connection ends", async () => {
    const { port } = await startServer({}, { limits: { resetBurst: 2, resetsPerSecond: 0.001 } });
    const connection = await RawConnection.open(port);
    for (const stream of [1, 3, 5]) {
      connection.write(frame(Type.headers, Flag.endHeaders, stream, request("GreetTogether")));
      connection.write(frame(Type.reset, 0, stream, words(Reset.cancel)));
    }
    await connection.end();
    const goaway = connection.received.findLast(({ type }) => type === Type.goaway);
    expect(goaway?.payload.readUInt32BE(4)).toBe(Reset.calm);
  });
});
