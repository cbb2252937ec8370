/**
 * The behaviour of sockets and of timers: the same script runs on real sockets of the loopback interface and on the real event
 * loop, and on simulated ones, and must see the same events. A model that is kinder than Node proves nothing.
 */
import * as net from "node:net";
import { describe, expect, test, vi } from "vitest";
import * as nodePlatform from "../../runtime/src/call/platform.ts";
import { Network } from "./network.ts";
import { Trace } from "./trace.ts";
import { World } from "./world.ts";

/** The functions of `node:net` that a script uses, and waits that fit the world. */
interface Platform {
  readonly connect: (port: number) => net.Socket;
  readonly listen: (onConnection: (socket: net.Socket) => void) => Promise<Listener>;
  /** Waits until nothing happens any more. */
  readonly quiet: () => Promise<void>;
}

interface Listener extends Pick<net.Server, "maxConnections" | "close"> {
  readonly port: number;
}

interface Pair {
  readonly client: net.Socket;
  readonly server: net.Socket;
  /** The events, in the order of each side. */
  readonly events: { readonly client: string[]; readonly server: string[] };
  readonly quiet: () => Promise<void>;
}

type Script = (pair: Pair) => Promise<void>;

const SCRIPTS: Readonly<Record<string, Script>> = {
  "the client ends after its data, and both sides read": async ({ client, server, events, quiet }) => {
    read(client);
    read(server);
    client.end("data", () => events.client.push("end callback"));
    await quiet();
  },
  "the peer ends, and this side does not read": async ({ client, server, quiet }) => {
    client.pause();
    server.end();
    await quiet();
  },
  "the peer resets, and this side reads": async ({ client, server, quiet }) => {
    read(client);
    server.resetAndDestroy();
    await quiet();
  },
  "the peer resets, and this side is paused": async ({ client, server, quiet }) => {
    client.pause();
    server.resetAndDestroy();
    await quiet();
  },
  "a small write": async ({ client, server, events, quiet }) => {
    read(server);
    const isFree = client.write("few", () => events.client.push("written"));
    events.client.push(`write ${isFree}, ${client.writableLength} bytes left`);
    await quiet();
  },
  "three corked writes": async ({ client, server, events, quiet }) => {
    read(server);
    client.cork();
    for (const text of ["a", "b", "c"]) client.write(text);
    client.uncork();
    events.client.push(`${client.writableLength} bytes left`);
    await quiet();
  },
  "a write that is larger than all buffers, to a peer that does not read": async ({
    client,
    server,
    events,
    quiet,
  }) => {
    server.pause();
    const isFree = client.write(Buffer.alloc(32 * 1024 * 1024), () => events.client.push("written"));
    events.client.push(`write ${isFree}, ${client.writableLength > 0}`);
    await quiet();
    server.on("data", () => {}).resume();
    await quiet();
  },
  "a socket is destroyed with an error while a write waits": async ({ client, server, events, quiet }) => {
    server.pause();
    client.write(Buffer.alloc(32 * 1024 * 1024), (error) =>
      events.client.push(`written ${error ? "with an error" : ""}`),
    );
    await quiet();
    client.destroy(new Error("enough"));
    await quiet();
  },
  "a write after the peer has ended": async ({ client, server, events, quiet }) => {
    read(client);
    server.end();
    await quiet();
    client.write("late", (error) => events.client.push(`written ${(error as NodeJS.ErrnoException | null)?.code}`));
    await quiet();
  },
  "a half-open socket writes after the peer has ended": async ({ client, server, events, quiet }) => {
    server.allowHalfOpen = true;
    read(server);
    read(client);
    client.end("question");
    await quiet();
    server.end("answer", () => events.server.push("end callback"));
    await quiet();
  },
  "the peer resets after its data, and this side is paused": async ({ client, server, events, quiet }) => {
    client.pause();
    server.write("data");
    await quiet();
    server.resetAndDestroy();
    await quiet();
    client.on("data", (chunk) => events.client.push(`${chunk}`)).resume();
    await quiet();
  },
  "the peer is destroyed with data that it has not read": async ({ client, server, events, quiet }) => {
    server.pause();
    read(client);
    client.write("data", () => events.client.push("written"));
    await quiet();
    server.destroy();
    await quiet();
  },
  "a write after the end": async ({ client, server, events, quiet }) => {
    read(server);
    read(client);
    client.end("data");
    client.write("late", (error) => events.client.push(`written ${codeOf(error)}`));
    await quiet();
  },
  "a write after destroy": async ({ client, server, events, quiet }) => {
    read(server);
    client.destroy();
    client.write("late", (error) => events.client.push(`written ${codeOf(error)}`));
    await quiet();
  },
  "a write and destroy in one turn": async ({ client, server, events, quiet }) => {
    server.on("data", (chunk) => events.server.push(`${chunk}`));
    client.write("data", (error) => events.client.push(`written ${codeOf(error)}`));
    client.destroy();
    await quiet();
  },
  "the end and destroy in one turn": async ({ client, server, events, quiet }) => {
    server.on("data", (chunk) => events.server.push(`${chunk}`));
    client.end("data");
    client.destroy();
    await quiet();
  },
  "the end while a write waits, which the peer then reads": async ({ client, server, events, quiet }) => {
    server.pause();
    read(client);
    client.write(Buffer.alloc(32 * 1024 * 1024), () => events.client.push("written"));
    client.end((error?: Error) => events.client.push(`end callback ${codeOf(error)}`));
    await quiet();
    read(server);
    server.resume();
    await quiet();
  },
  "both sides end": async ({ client, server, quiet }) => {
    read(client);
    read(server);
    client.end();
    server.end();
    await quiet();
  },
  "a half-open socket writes to a peer that is gone": async ({ client, server, events, quiet }) => {
    server.allowHalfOpen = true;
    read(server);
    read(client);
    client.end("question");
    await quiet();
    client.destroy();
    await quiet();
    for (const text of ["first", "second"]) {
      server.write(text, (error) => events.server.push(`${text} written ${codeOf(error)}`));
      await quiet();
    }
  },
  "data is returned and read again": async ({ client, server, events, quiet }) => {
    server.once("readable", () => {
      const head = server.read() as Buffer | null;
      if (head === null) return;
      server.unshift(head);
      server.on("data", (chunk) => events.server.push(`again ${chunk}`));
    });
    client.write("head");
    await quiet();
  },
};

/** Scripts whose events differ from run to run in a real network, so that the model must have several. */
const VARIED: Readonly<Record<string, Script>> = {
  "the peer resets while two writes wait": async ({ client, server, events, quiet }) => {
    server.pause();
    client.write(Buffer.alloc(32 * 1024 * 1024), () => events.client.push("first written"));
    client.write("more", (error) => events.client.push(`second written ${codeOf(error)}`));
    await quiet();
    server.resetAndDestroy();
    await quiet();
  },
  "the peer resets right after its data, and this side reads": async ({ client, server, events, quiet }) => {
    client.on("data", (chunk) => events.client.push(`${chunk}`));
    server.write("data");
    server.resetAndDestroy();
    await quiet();
  },
};

interface Dialer {
  /** Connects to a listener, to a port without one, or to a listener that has all connections that it may have. */
  dial(to: "listener" | "nowhere" | "full"): net.Socket;
  readonly events: string[];
  readonly quiet: () => Promise<void>;
}

const DIALS: Readonly<Record<string, (dialer: Dialer) => Promise<void>>> = {
  "is refused": async ({ dial, quiet }) => {
    dial("nowhere");
    await quiet();
  },
  "is refused after a write and the end": async ({ dial, events, quiet }) => {
    const socket = dial("nowhere");
    socket.write("early", (error) => events.push(`written ${codeOf(error)}`));
    events.push(`${socket.writableLength} bytes, connecting ${socket.connecting}`);
    socket.end((error?: Error) => events.push(`end callback ${codeOf(error)}`));
    await quiet();
  },
  "is made after a write": async ({ dial, events, quiet }) => {
    const socket = dial("listener");
    const isFree = socket.write("early", () => events.push("written"));
    events.push(`write ${isFree}, ${socket.writableLength} bytes, connecting ${socket.connecting}`);
    await quiet();
    events.push(`${socket.writableLength} bytes, connecting ${socket.connecting}`);
  },
  "is made after the end": async ({ dial, events, quiet }) => {
    dial("listener").end("early", () => events.push("end callback"));
    await quiet();
  },
  "is given up at once": async ({ dial, quiet }) => {
    dial("listener").destroy();
    await quiet();
  },
  "is given up with an error after a write": async ({ dial, events, quiet }) => {
    const socket = dial("listener");
    socket.write("early", (error) => events.push(`written ${codeOf(error)}`));
    socket.destroy(new Error("too slow"));
    await quiet();
  },
  "is one more than the listener may have": async ({ dial, quiet }) => {
    read(dial("full"));
    await quiet();
  },
};

/** Seeds of worlds in which a script is played. */
const SEEDS = Array.from({ length: 16 }, (_, index) => index + 1);
/** A port without a listener. */
const NOWHERE = 1;

const NAMES = ["connect", "ready", "end", "finish", "drain", "error", "close"] as const;

function record(socket: net.Socket, events: string[]): void {
  for (const name of NAMES) {
    socket.on(name, (value?: unknown) => {
      const { code, syscall, message } = (value ?? {}) as NodeJS.ErrnoException;
      const text = name === "close" ? ` ${value}` : name === "error" ? ` ${code ?? message} ${syscall ?? ""}` : "";
      events.push(`${name}${text}`.trim());
    });
  }
}

function codeOf(error: Error | null | undefined): string {
  return error ? ((error as NodeJS.ErrnoException).code ?? error.message) : "";
}

function read(socket: net.Socket): void {
  socket.on("data", () => {});
}

async function play(script: Script, { connect, listen, quiet }: Platform): Promise<Pair["events"]> {
  const events = { client: [] as string[], server: [] as string[] };
  let accepted = (_socket: net.Socket): void => {};
  const server = new Promise<net.Socket>((resolve) => {
    accepted = resolve;
  });
  const listener = await listen((socket) => accepted(socket));
  const client = connect(listener.port);
  const pair = { client, server: await server, events, quiet };
  await quiet();
  record(client, events.client);
  record(pair.server, events.server);
  await script(pair);
  const seen = { client: [...events.client], server: [...events.server] };
  client.destroy();
  pair.server.destroy();
  listener.close();
  await quiet();
  return seen;
}

async function playDial(
  script: (dialer: Dialer) => Promise<void>,
  { connect, listen, quiet }: Platform,
): Promise<string[]> {
  const events: string[] = [];
  const sockets: net.Socket[] = [];
  const listener = await listen((socket) => sockets.push(socket.on("data", () => {})));
  const dial = (to: "listener" | "nowhere" | "full"): net.Socket => {
    if (to === "full") listener.maxConnections = 1;
    const socket = connect(to === "nowhere" ? NOWHERE : listener.port);
    record(socket, events);
    sockets.push(socket);
    return socket;
  };
  const first = connect(listener.port);
  await quiet();
  await script({ dial, events, quiet });
  const seen = [...events];
  for (const socket of [first, ...sockets]) socket.destroy();
  listener.close(() => events.push("closed"));
  await quiet();
  return [...seen, ...events.filter((text) => text === "closed")];
}

const real: Platform = {
  connect: (port) => net.connect(port, "127.0.0.1"),
  listen: (onConnection) =>
    new Promise((resolve) => {
      const server = net.createServer(onConnection).listen(0, "127.0.0.1", () => {
        resolve(Object.assign(server, { port: (server.address() as net.AddressInfo).port }));
      });
    }),
  // The loopback interface delivers in the next turns of the event loop; large data takes many.
  quiet: async () => {
    for (let turn = 0; turn < 400; turn++) await new Promise((resolve) => setImmediate(resolve));
  },
};

interface Simulated {
  readonly platform: Platform;
  readonly world: World;
  readonly network: Network;
}

/** Plays in a world of its own, until the end. */
async function simulate<T>(play: (simulated: Simulated) => Promise<T>, seed = 1): Promise<T> {
  const world = new World(seed, { cpuMs: 0, latenessMs: 0 }, new Trace());
  const link = { latencyMs: 0.1, jitterMs: 0, chunking: "whole" as const, bufferBytes: 4 * 1024 * 1024 };
  const ignore = (): void => {};
  const network = new Network(world, link, {
    onDial: ignore,
    onUnlistened: ignore,
    onConnection: ignore,
    onClosed: ignore,
  });
  const simulated = network.module(net) as Pick<typeof net, "connect" | "createServer">;
  const platform: Platform = {
    connect: (port) => simulated.connect({ host: port === NOWHERE ? "10.1.0.2" : "10.1.0.1", port }),
    listen: (onConnection) =>
      new Promise((resolve) => {
        const server = simulated.createServer();
        server.on("connection", onConnection);
        server.listen({ host: "10.1.0.1", port: 80 }, () => resolve(Object.assign(server, { port: 80 })));
      }),
    quiet: () => world.sleep(100),
  };
  const played = play({ platform, world, network });
  await world.runUntil(played);
  return played;
}

describe("real and simulated sockets emit the same events", () => {
  test.each(Object.entries(SCRIPTS))("%s", async (_name, script) => {
    expect(await simulate(({ platform }) => play(script, platform))).toEqual(await play(script, real));
  });

  test.each(Object.entries(VARIED))("%s: one of several", async (_name, script) => {
    const simulated = [];
    for (const seed of SEEDS) simulated.push(await simulate(({ platform }) => play(script, platform), seed));
    expect(simulated).toContainEqual(await play(script, real));
    expect(new Set(simulated.map((events) => JSON.stringify(events))).size).toBeGreaterThan(1);
  });

  test.each(Object.entries(DIALS))("a connection %s", async (_name, script) => {
    expect(await simulate(({ platform }) => playDial(script, platform))).toEqual(await playDial(script, real));
  });

  test("a connection whose packets are lost neither opens nor fails", async () => {
    const events = await simulate(async ({ platform, network }) => {
      network.setDialFault("server2", "lose");
      const seen: string[] = [];
      const socket = platform.connect(NOWHERE);
      record(socket, seen);
      await platform.quiet();
      seen.push(`connecting ${socket.connecting}`);
      socket.destroy(new Error("too slow"));
      await platform.quiet();
      return seen;
    });
    expect(events).toEqual(["connecting true", "error too slow", "close true"]);
  });
});

/** A turn of the event loop: its timers, and what a script lets happen in it. */
interface Turn extends Clock {
  readonly log: string[];
  /** Lets time pass without a return to the event loop. */
  block(ms: number): void;
  /** Sets the wall clock forward or back. */
  jump(ms: number): void;
  /** Makes input ready, which is logged when it is read. */
  receive(): void;
  /** Destroys a socket, whose end is logged. */
  destroy(): void;
}

type Clock = typeof nodePlatform;

const PHASES = ["timer", "immediate", "input"] as const;

/** Scripts that run in a turn, in each of its phases. They block the loop until everything that they have started is due. */
const TURNS: Readonly<Record<string, (turn: Turn) => void>> = {
  "timers of one delay": ({ startTimer, startBackgroundTimer, block, log }) => {
    startTimer(1, () => log.push("first"));
    startBackgroundTimer(1, () => log.push("background"));
    startTimer(1, () => log.push("last"));
    block(5);
  },
  "timers of two delays, of which one is due between two of the other": ({ startTimer, block, log }) => {
    startTimer(20, () => log.push("20 ms from 0"));
    block(12);
    startTimer(12, () => log.push("12 ms from 12"));
    block(4);
    startTimer(20, () => log.push("20 ms from 16"));
    block(40);
  },
  "delays that are cut": ({ startTimer, block, log }) => {
    for (const ms of [Number.NaN, 4, 0, 1.9, -5, 0.5]) startTimer(ms, () => log.push(`${ms}`));
    block(10);
  },
  "delays longer than timers have": ({ startTimer, startBackgroundTimer, repeat, MAX_TIMER_MS, log }) => {
    const stops = [
      startTimer(MAX_TIMER_MS + 1, () => log.push("too early")),
      startTimer(Number.POSITIVE_INFINITY, () => log.push("too early")),
      startBackgroundTimer(Number.POSITIVE_INFINITY, () => log.push("too early")),
      repeat(Number.POSITIVE_INFINITY, () => log.push("too early")),
    ];
    startTimer(20, () => {
      for (const stop of stops) stop();
      log.push("end");
    });
  },
  "a timer, an immediate and input": ({ startTimer, defer, receive, block, log }) => {
    startTimer(2, () => log.push("timer"));
    defer(() => log.push("immediate"));
    receive();
    block(8);
  },
  "a socket that closes, immediates and a timer": ({ startTimer, defer, destroy, block, log }) => {
    startTimer(2, () => log.push("timer"));
    defer(() => {
      log.push("immediate");
      defer(() => log.push("later immediate"));
    });
    destroy();
    block(8);
  },
  "a timer and an immediate that a timer starts, before another timer": ({ startTimer, defer, block, log }) => {
    startTimer(1, () => {
      log.push("first");
      defer(() => log.push("immediate"));
      startTimer(0, () => log.push("nested"));
      block(5);
    });
    startTimer(1, () => log.push("second"));
    block(5);
  },
  "timers that are due when a microtask of a timer starts another one": ({ startTimer, defer, block, log }) => {
    startTimer(1, () => {
      log.push("first");
      defer(() => log.push("immediate"));
      startTimer(0, () => log.push("second"));
      queueMicrotask(() => {
        block(5);
        startTimer(20, () => log.push("last"));
      });
    });
    block(5);
  },
  "timers of no delay that start each other": ({ startTimer, defer, block, log }) => {
    const next = (left: number): void => {
      log.push("timer");
      if (left > 0) startTimer(0, () => next(left - 1));
      block(5);
    };
    startTimer(0, () => next(3));
    defer(() => {
      log.push("immediate");
      defer(() => log.push("later immediate"));
    });
    block(5);
  },
  "immediates that an immediate adds, and its microtasks": ({ defer, log }) => {
    defer(() => {
      log.push("first");
      defer(() => log.push("third"));
      process.nextTick(() => log.push("tick"));
      queueMicrotask(() => log.push("microtask"));
    });
    defer(() => log.push("second"));
  },
  "microtasks of a timer": ({ startTimer, block, log }) => {
    startTimer(1, () => {
      log.push("first");
      queueMicrotask(() => log.push("microtask"));
    });
    startTimer(1, () => log.push("second"));
    block(5);
  },
  "a timer that stops another one which is due": ({ startTimer, block, log }) => {
    startTimer(1, () => {
      log.push("first");
      stop();
      stop();
    });
    const stop = startTimer(1, () => log.push("stopped"));
    startTimer(1, () => log.push("third"));
    block(5);
  },
  "an interval, several of which have passed": ({ repeat, defer, block, log }) => {
    let calls = 0;
    const stop = repeat(10, () => {
      calls++;
      if (calls > 1) return stop();
      defer(() => log.push(`${calls} call`));
    });
    block(35);
  },
  "an interval that is shorter than its work": ({ repeat, defer, receive, block, log }) => {
    let calls = 0;
    const stop = repeat(5, () => {
      log.push("call");
      defer(() => log.push("immediate"));
      receive();
      block(15);
      if (++calls === 3) stop();
    });
    block(10);
  },
  "a wall clock that jumps": ({ startTimer, now, wallClock, jump, block, log }) => {
    const [start, time] = [now(), wallClock()];
    for (const hours of [1, -2]) {
      jump(hours * 3_600_000);
      log.push(`${Math.round((wallClock() - time) / 3_600_000)} hours, ${now() - start < 60_000}`);
    }
    const stop = startTimer(60_000, () => log.push("too early"));
    startTimer(1, () => {
      stop();
      log.push("timer");
    });
    block(5);
  },
};

interface Loop {
  readonly platform: Platform;
  readonly clock: Clock;
  readonly block: (ms: number) => void;
  readonly jump: (ms: number) => void;
}

/** A log that can be waited for without timers, which would change what it shows. */
class Log extends Array<string> {
  #count = 0;
  #wake = (): void => {};

  until(count: number): Promise<void> {
    this.#count = count;
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#look();
    });
  }

  override push(...texts: string[]): number {
    super.push(...texts);
    this.#look();
    return this.length;
  }

  #look(): void {
    if (this.length >= this.#count) this.#wake();
  }
}

/** Runs a script in a phase of a turn. Later turns add to its log. */
async function startTurn(script: (turn: Turn) => void, phase: string, loop: Loop, log: string[]): Promise<void> {
  const { platform, clock, block, jump } = loop;
  const accepted: net.Socket[] = [];
  const listener = await platform.listen((socket) => accepted.push(socket));
  const sockets = [0, 1, 2].map(() => platform.connect(listener.port));
  await platform.quiet();
  const [first, second, third] = sockets as [net.Socket, net.Socket, net.Socket];
  // Connections are accepted in any order.
  for (const socket of accepted) {
    socket.on("data", (bytes: Uint8Array) => (String(bytes) === "begin" ? begin() : log.push("input")));
  }
  third.on("close", () => log.push("closed"));
  const begin = (): void => {
    const receive = (): void => void second.write("x");
    script({ ...clock, log, block, jump, receive, destroy: () => void third.destroy() });
  };
  if (phase === "timer") clock.startTimer(1, begin);
  else if (phase === "immediate") clock.defer(begin);
  else first.write("begin");
  ends.push(() => {
    for (const socket of [...sockets, ...accepted]) socket.destroy();
    listener.close();
  });
}

/** What ends the sockets of turns. */
const ends: (() => void)[] = [];

function simulateTurn(script: (turn: Turn) => void, phase: string, seed: number): Promise<string[]> {
  return simulate(async ({ platform, world }) => {
    const block = (ms: number): void => world.block(ms);
    const log: string[] = [];
    const loop = { platform, clock: world.platform(), block, jump: (ms: number) => world.jump(ms) };
    await startTurn(script, phase, loop, log);
    await world.sleep(1_000);
    return log;
  }, seed);
}

const realLoop: Loop = {
  platform: real,
  clock: nodePlatform,
  block(ms) {
    for (const end = performance.now() + ms; performance.now() < end; );
  },
  jump: (ms) => void vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms }),
};

describe.each(PHASES)(
  "a real and a simulated turn that begins in a callback of kind %s have the same order",
  (phase) => {
    test.each(Object.entries(TURNS))("of %s", async (_name, script) => {
      const simulated: string[][] = [];
      for (const seed of SEEDS) simulated.push(await simulateTurn(script, phase, seed));
      expect(simulated[0]).not.toEqual([]);
      try {
        const log = new Log();
        await startTurn(script, phase, realLoop, log);
        await log.until(simulated[0]?.length ?? 0);
        expect(simulated).toContainEqual([...log]);
      } finally {
        vi.useRealTimers();
        for (const end of ends.splice(0)) end();
      }
    });
  },
);

describe("a timer", () => {
  /** The times by which timers were late; less than 0: early. */
  async function lateness({ startTimer, now }: Clock): Promise<number[]> {
    const late: number[] = [];
    for (let i = 0; i < 50; i++) {
      await new Promise<void>((resolve) => {
        const start = now();
        startTimer(1 + (i % 3), () => {
          late.push(now() - start - 1 - (i % 3));
          resolve();
        });
      });
    }
    return late;
  }

  test("fires less than a millisecond early by the clock, and the model does so as well", async () => {
    const simulated = await simulate(({ world }) => lateness(world.platform()));
    expect(Math.min(...simulated)).toBeLessThan(0);
    for (const ms of [...simulated, ...(await lateness(nodePlatform))]) expect(ms).toBeGreaterThan(-1);
  });

  test("longer than those of the platform fires at its time, also when others were stopped", async () => {
    const delay = 3 * nodePlatform.MAX_TIMER_MS + 5;
    const play = (clock: Clock, log: number[]): void => {
      const start = clock.now();
      clock.startTimer(delay, () => log.push(Math.round(clock.now() - start - delay)));
      clock.startTimer(delay - 1, () => log.push(-1))();
    };
    const simulated = await simulate(async ({ world }) => {
      const log: number[] = [];
      play(world.platform(), log);
      await world.sleep(delay + 2);
      return log;
    });
    expect(Math.abs(simulated[0] ?? Number.NaN)).toBeLessThan(2);
    expect(simulated).toHaveLength(1);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    try {
      const log: number[] = [];
      play(nodePlatform, log);
      vi.advanceTimersByTime(delay + 2);
      expect(log).toEqual([0]);
    } finally {
      vi.useRealTimers();
    }
  });
});
