/**
 * Backoff between attempts to connect, and the calls in the meantime: those that fail at once, and those that wait for the
 * server to be ready.
 */
import { connect } from "node:net";
import { Code, RpcError } from "triple-es";
import { createTransport } from "triple-es/node";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createGreetServiceClient } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { Metadata } from "../../../runtime/src/call/metadata.ts";
import { ConnectionBackoff } from "../../../runtime/src/connection/attempts.ts";
import type { Connect, Connection } from "../../../runtime/src/connection/connection.ts";
import { CLOSED_BY_PEER, connectionError } from "../../../runtime/src/connection/error.ts";
import { Pool } from "../../../runtime/src/connection/pool.ts";
import { emptyBody } from "../../../runtime/src/http/body.ts";
import type { Connections } from "../../../runtime/src/http/exchange.ts";
import { WITHOUT_OTHERS } from "../../../runtime/src/http/transparent-retry.ts";
import { request } from "../../discovery/world.ts";
import { pause } from "../../support/pause.ts";
import { freePort } from "../../support/port.ts";
import {
  arriving,
  connectGreeter,
  failureOf,
  greetings,
  openTransport,
  startPeer,
  startServer,
} from "../../support/server.ts";

const REFUSED = new RpcError(Code.Unavailable, "connection to host:1 failed: connect ECONNREFUSED");
/** A random number without jitter. */
const MIDDLE = 0.5;

/** A clock that only the test advances, and random numbers that the test sets. */
class Clock {
  now: number = Math.floor(performance.now());

  constructor(random = MIDDLE) {
    vi.spyOn(performance, "now").mockImplementation(() => this.now);
    vi.spyOn(Math, "random").mockReturnValue(random);
  }
}

afterEach(() => void vi.restoreAllMocks());

/** An address of this machine on which no server listens. */
const localRefusal = (address: string): RpcError =>
  new RpcError(Code.Unavailable, "refused", { cause: Object.assign(new Error(), { code: "ECONNREFUSED", address }) });

/** Returns the delays after the given number of consecutive failures. */
function waits(failures: number, maxMs: number, random = MIDDLE, error = REFUSED): number[] {
  const clock = new Clock(random);
  const backoff = new ConnectionBackoff(maxMs);
  return Array.from({ length: failures }, () => {
    backoff.started();
    backoff.failed(error);
    const wait = backoff.remainingMs;
    expect(backoff.refusal() === undefined).toBe(wait === 0);
    clock.now += wait;
    return Math.round(wait);
  });
}

describe("the wait before the next attempt", () => {
  it("is zero at first, then a second, then 1.6 times as long each time, up to the limit", () => {
    expect(waits(8, 3_000)).toEqual([0, 1_000, 1_600, 2_560, 3_000, 3_000, 3_000, 3_000]);
  });

  it("has no smaller limit at the beginning of an outage", () => {
    expect(waits(9, 120_000)).toEqual([0, 1_000, 1_600, 2_560, 4_096, 6_554, 10_486, 16_777, 26_844]);
    expect(waits(40, 120_000).at(-1)).toBe(120_000);
  });

  it.each(["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "/run/server.sock"])(
    "is at most a second, including jitter, if no server listens at %s",
    (address) => {
      for (const random of [0, 1]) {
        const all = waits(100, 120_000, random, localRefusal(address)).slice(2);
        expect(Math.max(...all)).toBeLessThanOrEqual(1_000);
        expect(Math.min(...all)).toBeGreaterThanOrEqual(800);
      }
    },
  );

  it("is not shorter if a server of another machine refuses, or a host has such an address", () => {
    expect(waits(6, 120_000, MIDDLE, localRefusal("10.0.0.1")).at(-1)).toBe(6_554);
    const errors = [localRefusal("127.0.0.1").cause, localRefusal("10.0.0.1").cause];
    const cause = Object.assign(new AggregateError(errors), { code: "ECONNREFUSED" });
    expect(waits(6, 120_000, MIDDLE, new RpcError(Code.Unavailable, "refused", { cause })).at(-1)).toBe(6_554);
  });

  it("is up to a fifth longer or shorter", () => {
    expect(waits(2, 10_000, 0)).toEqual([0, 800]);
    expect(waits(2, 10_000, 1)).toEqual([0, 1_200]);
  });

  it("is zero if the limit is 0", () => {
    expect(waits(3, 0)).toEqual([0, 0, 0]);
  });

  it("stays finite for any number of failed attempts", () => {
    expect(waits(2_000, 50).at(-1)).toBe(50);
  });

  it("counts from the beginning of the attempt that failed, which may have taken long", () => {
    const clock = new Clock();
    const backoff = new ConnectionBackoff(10_000);
    for (let i = 0; i < 2; i++) {
      backoff.started();
      clock.now += 900;
      backoff.failed(REFUSED);
    }
    expect(backoff.refusal()?.rawMessage).toBe(`${REFUSED.rawMessage} (next attempt in 0.1 s)`);
    clock.now += 100;
    expect(backoff.refusal()).toBeUndefined();
  });

  it("is forgotten with the first attempt that succeeds", () => {
    void new Clock();
    const backoff = new ConnectionBackoff(10_000);
    const fail = (): void => {
      backoff.started();
      backoff.failed(REFUSED);
    };
    fail();
    fail();
    backoff.succeeded();
    fail();
    expect(backoff.refusal()).toBeUndefined();
    fail();
    expect(backoff.refusal()).toBeDefined();
  });
});

describe("calls to a server that cannot be connected to", () => {
  const answering: Connection = {
    streams: 0,
    maxStreams: 100,
    open: true,
    pings: 0,
    quietSince: performance.now(),
    exchange: async () => ({ status: 200, headers: new Metadata(), body: emptyBody, trailers: new Metadata() }),
    ping: async () => {},
    close: async () => {},
    destroy: () => {},
  };

  /** A pool whose attempts to connect end as the test specifies, and its clock. */
  function startPool(connect: Connect, maxConnections = 2): Omit<Connections, "destroy"> & { readonly clock: Clock } {
    const clock = new Clock();
    const pool = new Pool(connect, {
      peer: "127.0.0.1:1",
      maxConnections,
      idleTimeoutMs: 60_000,
      verifyAfterMs: 60_000,
      pingIntervalMs: undefined,
      pingTimeoutMs: 60_000,
      waitForReady: false,
      backoff: new ConnectionBackoff(),
    });
    // The outcome beside the error is for balancers.
    return { clock, exchange: pool.observed(WITHOUT_OTHERS), close: () => pool.close() };
  }

  it("do not fail because other calls take each new connection", async () => {
    const CALLS = 40;
    let connections = 0;
    const pool = startPool(async (owner) => {
      connections++;
      // Each connection serves one call, and then leaves as after GOAWAY.
      const leaving: Connection = {
        ...answering,
        open: true,
        maxStreams: 1,
        exchange: (sent) => {
          owner.onUnusable(leaving, true);
          return answering.exchange(sent);
        },
      };
      return leaving;
    });
    const statuses = await Promise.all(
      Array.from({ length: CALLS }, async () => (await pool.exchange(request())).status),
    );
    expect(statuses).toEqual(Array(CALLS).fill(200));
    expect(connections).toBe(CALLS);
    await pool.close();
  });

  it.each([2, 1 / 0])("fail as not sent if the server closes each of at most %d connections at once", async (most) => {
    let connections = 0;
    const pool = startPool(async () => {
      if (++connections === 50) throw new Error("too many connections");
      return { ...answering, open: false };
    }, most);
    expect((await failureOf(pool.exchange(request()))).rawMessage).toContain(
      "closes every connection before it can be used",
    );
    expect(connections).toBeLessThan(50);
    await pool.close();
  });

  it("make two attempts, and then fail at once, naming the last failure, until it is time for the next", async () => {
    let attempts = 0;
    const pool = startPool(async () => {
      attempts++;
      throw new RpcError(Code.Unavailable, `failure ${attempts}`);
    });
    const fail = (): Promise<RpcError> => failureOf(pool.exchange(request()));
    expect((await fail()).rawMessage).toBe("failure 1");
    expect((await fail()).rawMessage).toBe("failure 2");
    for (let i = 0; i < 100; i++) {
      const { code, rawMessage, cause } = await fail();
      expect([code, rawMessage]).toEqual([Code.Unavailable, "failure 2 (next attempt in 1.0 s)"]);
      expect(cause).toMatchObject({ rawMessage: "failure 2" });
    }
    pool.clock.now += 999;
    expect((await fail()).rawMessage).toContain("failure 2");
    pool.clock.now += 1;
    expect((await fail()).rawMessage).toBe("failure 3");
    expect(attempts).toBe(3);
    await pool.close();
  });

  it("make nine connections in 70 s, as grpc-js, to a server that closes each one after accepting it", async () => {
    const times: number[] = [];
    const pool = startPool(async () => {
      times.push((clock.now - start) / 1_000);
      throw connectionError(CLOSED_BY_PEER, "127.0.0.1:1");
    });
    const { clock } = pool;
    const start = clock.now;
    for (; clock.now <= start + 70_000; clock.now += 500) await failureOf(pool.exchange(request()));
    // Only the first one is repeated at once.
    expect(times).toEqual([0, 0, 1, 3, 6, 10.5, 17.5, 28, 45]);
  });

  it("connect twice at once, over sockets, only for the first failure in a row", async () => {
    let connections = 0;
    let serves = false;
    const { port } = await startServer();
    const gate = await startPeer((socket) => {
      connections++;
      if (!serves) return void socket.destroy();
      const upstream = connect(port, "127.0.0.1");
      upstream.on("error", () => socket.destroy());
      socket.pipe(upstream).pipe(socket);
    });
    const client = connectGreeter(`http://127.0.0.1:${gate}`, { maxBackoffMs: 0 });
    for (let calls = 0; calls < 4; calls++) expect((await failureOf(client.greet({}))).code).toBe(Code.Unavailable);
    expect(connections).toBe(5);
    serves = true;
    await client.greet({});
    expect(connections).toBe(6);
  });

  it("connect again if another attempt has failed beside a connection whose verification then fails", async () => {
    const attempts: (() => Promise<Connection>)[] = [
      async () => dead,
      async () => {
        clock.now += 60_001;
        throw REFUSED;
      },
      async () => answering,
    ];
    let lose = (): void => {};
    const { clock, ...pool } = startPool((owner) => {
      lose = () => owner.onUnusable(dead, false);
      return (attempts.shift() as () => Promise<Connection>)();
    });
    const dead = {
      ...answering,
      quietSince: clock.now,
      ping: () => Promise.reject(REFUSED),
      destroy() {
        dead.open = false;
        lose();
      },
    };
    await pool.exchange(request());
    // Full until the next attempt to connect has begun.
    dead.maxStreams = 0;
    const response = pool.exchange(request());
    dead.maxStreams = 100;
    expect((await response).status).toBe(200);
    expect(attempts).toEqual([]);
    await pool.close();
  });

  it("share the attempt that is under way", async () => {
    let attempts = 0;
    const pool = startPool(async () => {
      attempts++;
      throw REFUSED;
    });
    await Promise.all(Array.from({ length: 50 }, () => failureOf(pool.exchange(request()))));
    expect(attempts).toBe(1);
    await pool.close();
  });

  it("are answered by a server that started while an attempt failed that was made before they needed it", async () => {
    let fail = (_error: RpcError): void => {};
    const attempts: (() => Promise<Connection>)[] = [
      async () => leaving,
      () => new Promise((_, reject) => (fail = reject)),
      async () => answering,
    ];
    const { clock, ...pool } = startPool((owner) => {
      leave = () => owner.onUnusable(leaving, true);
      return (attempts.shift() as () => Promise<Connection>)();
    });
    let leave = (): void => {};
    const leaving: Connection = { ...answering, streams: 1 };
    await pool.exchange(request());
    leave();
    const response = pool.exchange(request());
    fail(REFUSED);
    expect((await response).status).toBe(200);
    expect(attempts).toEqual([]);
    await pool.close();
  });

  it("are answered when it is time and the server is there again", async () => {
    let up = false;
    const pool = startPool(async () => {
      if (up) return answering;
      throw REFUSED;
    });
    for (let i = 0; i < 3; i++) await failureOf(pool.exchange(request()));
    up = true;
    await failureOf(pool.exchange(request()));
    pool.clock.now += 1_000;
    expect((await pool.exchange(request())).status).toBe(200);
    await pool.close();
  });

  it("succeed with the first retry, over sockets, if the server has started in between", async () => {
    const port = await freePort();
    const client = connectGreeter(`http://127.0.0.1:${port}`);
    expect((await failureOf(client.greet({ name: "Ada" }))).rawMessage).toContain("ECONNREFUSED");
    await startServer({}, {}, port);
    expect((await client.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
  });

  it("make every attempt, over sockets, with maxBackoffMs: 0", async () => {
    const port = await freePort();
    const client = connectGreeter(`http://127.0.0.1:${port}`, { maxBackoffMs: 0 });
    for (let i = 0; i < 5; i++) {
      expect((await failureOf(client.greet({}))).rawMessage).toMatch(/connect ECONNREFUSED 127\.0\.0\.1:\d+$/);
    }
  });
});

/** A server that starts later, on a port on which no server listened before. */
async function startLater(afterMs: number): Promise<{ baseUrl: string; started: Promise<unknown> }> {
  const port = await freePort();
  const started = pause(afterMs).then(() => startServer({}, {}, port));
  return { baseUrl: `http://127.0.0.1:${port}`, started };
}

describe.each([
  { protocol: "grpc", httpVersion: "2" },
  { protocol: "http-rpc", httpVersion: "2" },
  { protocol: "http-rpc", httpVersion: "1.1" },
] as const)("a call that waits for the server to be ready: $protocol over HTTP/$httpVersion", (protocol) => {
  it("succeeds when the server starts, and so do all other waiting calls", async () => {
    const { baseUrl, started } = await startLater(300);
    const client = connectGreeter(baseUrl, { ...protocol, waitForReady: true });
    const calls = Array.from({ length: 20 }, (_, i) => client.greet({ name: `${i}` }, { timeoutMs: 10_000 }));
    const answers = await Promise.all(calls);
    expect(answers.map(({ greeting }) => greeting)).toEqual(answers.map((_, i) => `Hello, ${i}!`));
    await started;
  });

  it("may wait by the option of the call, even without a deadline, while others on the transport fail at once", async () => {
    const { baseUrl, started } = await startLater(300);
    const client = connectGreeter(baseUrl, protocol);
    const waiting = client.greet({ name: "Ada" }, { waitForReady: true });
    for (let i = 0; i < 3; i++) expect((await failureOf(client.greet({}))).code).toBe(Code.Unavailable);
    expect((await waiting).greeting).toBe("Hello, Ada!");
    await started;
  });

  it("may override the option of the transport or the client", async () => {
    const client = connectGreeter(`http://127.0.0.1:${await freePort()}`, { ...protocol, waitForReady: true });
    expect((await failureOf(client.greet({}, { waitForReady: false }))).code).toBe(Code.Unavailable);
  });

  it("fails with its deadline, and names what it waited for", async () => {
    const port = await freePort();
    const client = connectGreeter(`http://127.0.0.1:${port}`, { ...protocol, waitForReady: true });
    const { code, rawMessage, cause } = await failureOf(client.greet({}, { timeoutMs: 200 }));
    expect(code).toBe(Code.DeadlineExceeded);
    expect(rawMessage).toContain(
      `the deadline of 200 ms has passed while the call waited: connection to 127.0.0.1:${port} failed`,
    );
    expect(cause).toBeInstanceOf(RpcError);
  });

  it("ends when it is cancelled, and when the transport is closed", async () => {
    const transport = openTransport(`http://127.0.0.1:${await freePort()}`, { ...protocol, waitForReady: true });
    const client = createGreetServiceClient(transport);
    const controller = new AbortController();
    const cancelled = failureOf(client.greet({}, { signal: controller.signal }));
    const closed = failureOf(client.greet({}));
    await pause(50);
    controller.abort();
    expect((await cancelled).code).toBe(Code.Canceled);
    await transport.close({ graceMs: 10 });
    expect(await closed).toMatchObject({ code: Code.Unavailable, rawMessage: "the transport is closed" });
  });
});

describe("calls that wait for the server to be ready", () => {
  it("send the messages of a stream once, after the server has started", async () => {
    const { baseUrl, started } = await startLater(300);
    const client = connectGreeter(baseUrl, { waitForReady: true });
    expect(await greetings(client.greetOnArrival(arriving("Ada", "Bob")))).toEqual(["Hello, Ada!", "Hello, Bob!"]);
    await started;
  });

  it("share one attempt at a time; attempts continue only while a call waits", async () => {
    const port = await freePort();
    const transport = openTransport(`http://127.0.0.1:${port}`, { waitForReady: true, maxBackoffMs: 20 });
    const client = createGreetServiceClient(transport);
    const calls = Array.from({ length: 50 }, (_, i) => failureOf(client.greet({}, { timeoutMs: 100 + i })));
    await Promise.all(calls);
    let connections = 0;
    await startPeer(() => void connections++, undefined, port);
    await pause(100);
    expect(connections).toBe(0);
  });

  it("abort an attempt that no call needs any more, so that the program can end", {
    timeout: 15_000,
  }, async () => {
    let closed = 0;
    const port = await startPeer((socket) => socket.resume().on("close", () => closed++));
    const client = connectGreeter(`http://127.0.0.1:${port}`, { waitForReady: true });
    expect((await failureOf(client.greet({}, { timeoutMs: 50 }))).code).toBe(Code.DeadlineExceeded);
    await vi.waitFor(() => expect(closed).toBe(1), { timeout: 10_000 });
  });
});

describe("options of connections", () => {
  it.each([
    [{ connectTimeoutMs: 0 }, "connectTimeoutMs must be more than 0, not 0"],
    [{ maxBackoffMs: -1 }, "maxBackoffMs must be 0 or more, not -1"],
    [{ idleTimeoutMs: Number.NaN }, "idleTimeoutMs must be 0 or more, not NaN"],
    [{ pingIntervalMs: "1s" }, 'pingIntervalMs must be more than 0, not "1s"'],
    [{ maxConnections: 0 }, "maxConnections must be more than 0, not 0"],
    [{ waitForReady: "yes" }, 'waitForReady must be in [true,false], not "yes"'],
  ])("are checked when they are given: %j", (options, message) => {
    expect(() => createTransport({ baseUrl: "http://127.0.0.1:1", ...(options as object) })).toThrow(
      new TypeError(message),
    );
  });
});
