/**
 * The guard of a server's HTTP/2 connection: each limit and each time, with a clock and a connection of the test's own.
 */
import { EventEmitter } from "node:events";
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { Code } from "triple-es";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ReadableBody } from "../../runtime/src/node/io/body.ts";
import { MemoryBudget, MemoryShare } from "../../runtime/src/node/io/memory-budget.ts";
import { SessionGuard, type Watched } from "../../runtime/src/node/server/guard.ts";
import { type ConnectionLimits, resolveLimits, sweepIntervalMs } from "../../runtime/src/node/server/limits.ts";
import { ownEngine } from "../support/engine.ts";
import { Flag, frame, RawConnection, Reset, request, Type, words } from "../support/frames.ts";
import { signalled, startServer } from "../support/server.ts";

const MIB = 1024 * 1024;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance", "setImmediate"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A stream as the guard sees it: what has come of its message, and what of its answer has not gone out. */
class FakeStream implements Watched {
  readonly close = vi.fn();
  readonly failBytes = vi.fn();
  index = 0;
  collecting = false;
  received = 0;
  destroyed = false;
  closed = false;
  rstCode: number = constants.NGHTTP2_NO_ERROR;
  writableEnded = false;
  writableLength = 0;
  get stream(): ServerHttp2Stream {
    return this as unknown as ServerHttp2Stream;
  }
  get body(): ReadableBody {
    return this as unknown as ReadableBody;
  }
}

/** A connection under guard. */
class Guarded {
  readonly destroy = vi.fn();
  readonly close = vi.fn();
  readonly destroySocket = vi.fn();
  destroyed = false;
  pendingSettingsAck = false;
  bytesRead = 0;
  pings = 0;
  /** Answers the last ping. */
  pong = (): void => {};
  readonly guard: SessionGuard;

  constructor(limits: ConnectionLimits = {}, budget = new MemoryBudget(Number.POSITIVE_INFINITY)) {
    const session = Object.assign(new EventEmitter(), {
      destroy: this.destroy,
      close: this.close,
      ping: (callback: () => void) => {
        this.pings++;
        this.pong = callback;
      },
    });
    Object.defineProperty(session, "destroyed", { get: () => this.destroyed });
    Object.defineProperty(session, "pendingSettingsAck", { get: () => this.pendingSettingsAck });
    const socket = Object.defineProperty({ destroy: this.destroySocket }, "bytesRead", { get: () => this.bytesRead });
    this.guard = new SessionGuard(
      session as unknown as ServerHttp2Session,
      socket as unknown as Socket,
      resolveLimits(limits),
      budget,
    );
  }

  /** Lets time pass, with a look at the connection every second, and at the end. */
  pass(ms: number): void {
    for (let left = ms; left > 0; left -= 1_000) {
      vi.advanceTimersByTime(Math.min(left, 1_000));
      this.guard.sweep(performance.now());
    }
    vi.runAllTicks();
    vi.advanceTimersByTime(0);
  }

  open(stream = new FakeStream()): FakeStream {
    this.guard.watch(stream);
    return stream;
  }

  /** A call that takes no time, and the bytes of which are read. */
  call(): void {
    this.bytesRead += 500;
    this.guard.closed(this.open());
  }

  /** A call that the client gives up. */
  cancel(): void {
    const stream = this.open();
    stream.rstCode = constants.NGHTTP2_CANCEL;
    this.guard.closed(stream);
    vi.advanceTimersByTime(0);
  }
}

describe("limits", () => {
  it("have the defaults that the documents name", () => {
    expect(resolveLimits()).toEqual({
      maxStreams: 100,
      maxHandlers: 200,
      cancelBurst: 900,
      cancelsPerSecond: 30,
      headersTimeoutMs: 10_000,
      firstCallTimeoutMs: 30_000,
      messageTimeoutMs: 60_000,
      messageIdleMs: 15_000,
      stallTimeoutMs: 60_000,
      idleTimeoutMs: 300_000,
    });
  });

  it.each([0, -1, Number.NaN])("of %d are refused, by name", (value) => {
    expect(() => resolveLimits({ stallTimeoutMs: value })).toThrow(
      new RangeError(`limits.stallTimeoutMs must be more than 0, not ${value}`),
    );
  });

  it("in milliseconds decide how often connections are looked at", () => {
    expect(sweepIntervalMs(resolveLimits())).toBe(1_000);
    expect(sweepIntervalMs(resolveLimits({ messageIdleMs: 500 }))).toBe(50);
    expect(sweepIntervalMs(resolveLimits({ messageIdleMs: 1 }))).toBe(5);
    expect(sweepIntervalMs(resolveLimits({ maxHandlers: 1, cancelsPerSecond: 1 }))).toBe(1_000);
  });
});

describe("handlers", () => {
  it("run up to the limit, calls beyond are refused, and one that has ended makes room for one", () => {
    const { guard } = new Guarded({ maxHandlers: 2 });
    const streams = Array.from({ length: 4 }, () => new FakeStream());
    const admit = (index: number): boolean => guard.admit(streams[index]?.stream as ServerHttp2Stream);
    expect([admit(0), admit(1), admit(2)]).toEqual([true, true, false]);
    expect(streams[2]?.close).toHaveBeenCalledWith(constants.NGHTTP2_REFUSED_STREAM);
    guard.finished();
    expect(admit(3)).toBe(true);
  });

  it("are not started for a stream that is closed already, which counts as cancelled", () => {
    const guarded = new Guarded({ cancelBurst: 1 });
    const stream = Object.assign(new FakeStream(), { closed: true });
    for (let i = 0; i < 2; i++) expect(guarded.guard.admit(stream.stream)).toBe(false);
    vi.advanceTimersByTime(0);
    expect(guarded.destroy).toHaveBeenCalledWith(expect.any(Error), constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });
});

describe("cancelled calls", () => {
  it("beyond the burst end the connection", () => {
    const guarded = new Guarded({ cancelBurst: 10, cancelsPerSecond: 1 });
    for (let i = 0; i < 10; i++) guarded.cancel();
    expect(guarded.destroy).not.toHaveBeenCalled();
    guarded.cancel();
    expect(guarded.destroy).toHaveBeenCalledWith(expect.any(Error), constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });

  it("are forgiven at their rate, for good", () => {
    const guarded = new Guarded({ cancelBurst: 10, cancelsPerSecond: 5 });
    for (let i = 0; i < 1_000; i++) {
      guarded.cancel();
      vi.advanceTimersByTime(200);
    }
    expect(guarded.destroy).not.toHaveBeenCalled();
  });

  it("at twice their rate are not", () => {
    const guarded = new Guarded({ cancelBurst: 10, cancelsPerSecond: 5 });
    for (let i = 0; i < 30; i++) {
      guarded.cancel();
      vi.advanceTimersByTime(100);
    }
    expect(guarded.destroy).toHaveBeenCalled();
  });

  it("are not those that ended well", () => {
    const guarded = new Guarded({ cancelBurst: 1 });
    for (let i = 0; i < 100; i++) guarded.call();
    vi.advanceTimersByTime(0);
    expect(guarded.destroy).not.toHaveBeenCalled();
  });
});

describe("a connection", () => {
  it("whose settings are not acknowledged is ended after headersTimeoutMs", () => {
    const guarded = new Guarded({ headersTimeoutMs: 5_000 });
    guarded.pendingSettingsAck = true;
    guarded.pass(5_000);
    expect(guarded.destroy).not.toHaveBeenCalled();
    guarded.pass(1_000);
    expect(guarded.destroy).toHaveBeenCalledWith(expect.any(Error), constants.NGHTTP2_SETTINGS_TIMEOUT);
  });

  it("without a first call is closed after firstCallTimeoutMs", () => {
    const guarded = new Guarded({ firstCallTimeoutMs: 5_000 });
    guarded.pass(5_000);
    expect(guarded.close).not.toHaveBeenCalled();
    guarded.pass(1_000);
    expect(guarded.close).toHaveBeenCalled();
  });

  it("between calls is closed after idleTimeoutMs, counted from the last call, however short that was", () => {
    const guarded = new Guarded({ firstCallTimeoutMs: 5_000, idleTimeoutMs: 20_000 });
    for (let i = 0; i < 3; i++) {
      guarded.call();
      guarded.pass(20_000);
      guarded.pong();
    }
    expect(guarded.close).not.toHaveBeenCalled();
    guarded.pass(2_000);
    expect(guarded.close).toHaveBeenCalled();
  });

  it("with a call is not idle, though it has only to answer a ping once in idleTimeoutMs", () => {
    const guarded = new Guarded({ idleTimeoutMs: 20_000, stallTimeoutMs: 6_000 });
    guarded.open();
    guarded.pass(20_000);
    expect(guarded.pings).toBe(0);
    guarded.pass(1_000);
    expect(guarded.pings).toBe(1);
    guarded.pong();
    guarded.pass(21_000);
    expect(guarded.pings).toBe(2);
    guarded.pass(6_000);
    expect(guarded.destroy).not.toHaveBeenCalled();
    guarded.pass(1_000);
    expect(guarded.destroy).toHaveBeenCalledWith(expect.any(Error), constants.NGHTTP2_CANCEL);
    expect(guarded.close).not.toHaveBeenCalled();
  });

  it("that sends bytes which lead to nothing has headersTimeoutMs to answer a ping", () => {
    const guarded = new Guarded({ headersTimeoutMs: 5_000 });
    guarded.call();
    guarded.pass(1_000);
    guarded.bytesRead += 100;
    guarded.pass(1_000);
    expect(guarded.pings).toBe(1);
    guarded.pass(5_000);
    expect(guarded.destroy).not.toHaveBeenCalled();
    guarded.pass(1_000);
    expect(guarded.destroy).toHaveBeenCalledWith(expect.any(Error), constants.NGHTTP2_CANCEL);
  });

  it.each<[name: string, begin: (guarded: Guarded) => void]>([
    ["of few bytes", () => {}],
    ["that follows a call at once", (guarded) => guarded.call()],
  ])("that begins a header block %s and does not end it has headersTimeoutMs to answer a ping", (_, begin) => {
    const guarded = new Guarded({ headersTimeoutMs: 5_000 });
    guarded.call();
    guarded.pass(2_000);
    guarded.pong();
    begin(guarded);
    guarded.bytesRead += 10;
    guarded.pass(2_000);
    expect(guarded.destroy).not.toHaveBeenCalled();
    guarded.pass(6_000);
    expect(guarded.destroy).toHaveBeenCalledWith(expect.any(Error), constants.NGHTTP2_CANCEL);
  });

  it("that answers is left alone, and the answer itself is no reason to ask again", () => {
    const guarded = new Guarded({ headersTimeoutMs: 5_000 });
    guarded.call();
    guarded.pass(1_000);
    guarded.bytesRead += 100;
    guarded.pass(1_000);
    guarded.bytesRead += 17;
    guarded.pong();
    guarded.pass(60_000);
    expect(guarded.pings).toBe(1);
    expect(guarded.destroy).not.toHaveBeenCalled();
  });

  it("that sends bytes beside running calls is asked after headersTimeoutMs, and has stallTimeoutMs to answer", () => {
    const guarded = new Guarded({ headersTimeoutMs: 5_000, stallTimeoutMs: 10_000 });
    guarded.open();
    const pass = (seconds: number): void => {
      for (let i = 0; i < seconds; i++) {
        guarded.bytesRead += 100;
        guarded.pass(1_000);
      }
    };
    pass(5);
    expect(guarded.pings).toBe(0);
    pass(1);
    expect(guarded.pings).toBe(1);
    pass(10);
    expect(guarded.destroy).not.toHaveBeenCalled();
    pass(1);
    expect(guarded.destroy).toHaveBeenCalledWith(expect.any(Error), constants.NGHTTP2_CANCEL);
  });

  it("that is over and does not close its socket loses it after a second", () => {
    const guarded = new Guarded();
    guarded.destroyed = true;
    guarded.pass(2_000);
    expect(guarded.destroySocket).not.toHaveBeenCalled();
    guarded.pass(1_000);
    expect(guarded.destroySocket).toHaveBeenCalled();
  });
});

describe("the message of a unary call", () => {
  const limits = { messageIdleMs: 3_000, messageTimeoutMs: 10_000 };

  it("of which nothing more comes is given up after messageIdleMs", () => {
    const guarded = new Guarded(limits);
    const stream = guarded.open(Object.assign(new FakeStream(), { collecting: true, received: 10 }));
    // The first look is where time begins, and the second sees the bytes that have come.
    guarded.pass(4_000);
    expect(stream.failBytes).not.toHaveBeenCalled();
    guarded.pass(1_000);
    expect(stream.failBytes.mock.calls[0]?.[0]).toMatchObject({
      code: Code.DeadlineExceeded,
      rawMessage: "no more of the message has arrived within 3000 ms",
    });
  });

  it.each([
    [100, 10],
    [MIB, 20],
    [2 * MIB + 1, 30],
  ])("that dribbles in, %i bytes of it, is given up after messageTimeoutMs for each MiB: %i s", (bytes, seconds) => {
    const guarded = new Guarded(limits);
    const stream = guarded.open(Object.assign(new FakeStream(), { collecting: true, received: bytes }));
    const dribble = (count: number): void => {
      for (let i = 0; i < count; i++) {
        stream.received++;
        guarded.pass(1_000);
      }
    };
    dribble(seconds + 1);
    expect(stream.failBytes).not.toHaveBeenCalled();
    dribble(1);
    expect(stream.failBytes.mock.calls[0]?.[0]).toMatchObject({
      rawMessage: `the message has not arrived within ${seconds * 1_000} ms`,
    });
  });

  it("is all that has such a limit: messages of a stream may be as far apart as they like", () => {
    const guarded = new Guarded(limits);
    const stream = guarded.open();
    guarded.pass(60_000);
    expect(stream.failBytes).not.toHaveBeenCalled();
    expect(stream.close).not.toHaveBeenCalled();
  });
});

describe("when memory is short, what has stalled for 5 s is ended", () => {
  it.each<[name: string, state: Partial<FakeStream>, end: "close" | "failBytes"]>([
    ["an upload", { collecting: true, received: MIB }, "failBytes"],
    ["a response", { writableEnded: true, writableLength: MIB }, "close"],
    ["a stream of messages", { writableLength: MIB }, "close"],
  ])("%s", (_, state, end) => {
    const budget = new MemoryBudget(2 * MIB);
    const guarded = new Guarded({}, budget);
    const stream = guarded.open(Object.assign(new FakeStream(), state));
    guarded.guard.memory.take(MIB);
    const other = new MemoryShare(budget, () => {});
    guarded.pass(5_000);
    expect(other.take(MIB)).toBe(false);
    expect(stream[end]).not.toHaveBeenCalled();
    guarded.pass(2_000);
    stream[end].mockImplementation(() => guarded.guard.memory.release(MIB));
    expect(other.take(MIB)).toBe(true);
    expect(stream[end]).toHaveBeenCalledOnce();
  });
});

describe("an answer", () => {
  const limits = { stallTimeoutMs: 5_000 };
  const answered = (bytes: number): FakeStream =>
    Object.assign(new FakeStream(), { writableEnded: true, writableLength: bytes });

  it.each([
    [1, 5],
    [MIB, 5],
    [2 * MIB + 1, 15],
  ])("of %i bytes that is not taken is reset after stallTimeoutMs for each MiB: %i s", (bytes, seconds) => {
    const guarded = new Guarded(limits);
    const stream = guarded.open(answered(bytes));
    guarded.pass(1_000 * (seconds + 1));
    expect(stream.close).not.toHaveBeenCalled();
    guarded.pass(1_000);
    expect(stream.close).toHaveBeenCalledWith(constants.NGHTTP2_CANCEL);
  });

  it("that is taken bit by bit is not reset", () => {
    const guarded = new Guarded(limits);
    const stream = guarded.open(answered(100));
    for (; stream.writableLength > 0; stream.writableLength--) guarded.pass(4_000);
    guarded.pass(60_000);
    expect(stream.close).not.toHaveBeenCalled();
  });

  it("that goes on may wait for its reader for as long as that takes", () => {
    const guarded = new Guarded(limits);
    const stream = guarded.open(Object.assign(new FakeStream(), { writableLength: 100 }));
    guarded.pass(60_000);
    expect(stream.close).not.toHaveBeenCalled();
  });
});

describe("over a socket", () => {
  beforeEach(() => {
    vi.useRealTimers();
  });

  it("a client is told how many streams it may open, and is refused more, or loses the connection once it knows", async () => {
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
    // Our own engine refuses, and counts.
    if (ownEngine) return;
    const stubborn = await RawConnection.open(port);
    await stubborn.frame(Type.settings);
    openThree(stubborn);
    await stubborn.end();
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

  it("a client that cancels too much is told why its connection ends", async () => {
    const { port } = await startServer({}, { limits: { cancelBurst: 2, cancelsPerSecond: 0.001 } });
    const connection = await RawConnection.open(port);
    for (const stream of [1, 3, 5]) {
      connection.write(frame(Type.headers, Flag.endHeaders, stream, request("GreetTogether")));
      connection.write(frame(Type.reset, 0, stream, words(Reset.cancel)));
    }
    await connection.end();
    const goodbye = connection.received.findLast(({ type }) => type === Type.goaway);
    expect(goodbye?.payload.readUInt32BE(4)).toBe(Reset.calm);
  });
});
