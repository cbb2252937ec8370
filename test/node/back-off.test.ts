/**
 * A server that cannot be connected to is left alone for a while: how long, and what becomes of calls meanwhile.
 */
import { Code, RpcError } from "triple-es";
import { describe, expect, it } from "vitest";
import { Metadata } from "../../runtime/src/call/metadata.ts";
import { emptyBody, type HttpRequest } from "../../runtime/src/http/exchange.ts";
import { BackOff } from "../../runtime/src/node/client/backoff.ts";
import type { Connect, Connection } from "../../runtime/src/node/client/connection.ts";
import { createPool, type Pool } from "../../runtime/src/node/client/pool.ts";
import { connectGreeter, failureOf, freePort, startServer } from "../support/server.ts";

const REFUSED = new RpcError(Code.Unavailable, "connection to host:1 failed: connect ECONNREFUSED");
/** A random number that makes no jitter. */
const MIDDLE = 0.5;

/** A clock that stands still until it is told otherwise. */
class Clock {
  now = 1_000_000;
  readonly read = (): number => this.now;
}

/** The waits that so many failures in a row lead to. */
function waits(failures: number, maxMs: number, random = MIDDLE): number[] {
  const clock = new Clock();
  const backOff = new BackOff({ maxMs, now: clock.read, random: () => random });
  return Array.from({ length: failures }, () => {
    backOff.started();
    backOff.failed(REFUSED);
    const start = clock.now;
    while (backOff.refusal() !== undefined) clock.now += 10;
    return clock.now - start;
  });
}

describe("the wait before the next attempt", () => {
  it("is none at first, then a second, then longer by 1.6 each time, up to the limit", () => {
    expect(waits(8, 10_000)).toEqual([0, 1_000, 1_600, 2_560, 4_100, 6_560, 10_000, 10_000]);
  });

  it("is up to a fifth longer or shorter", () => {
    expect(waits(2, 10_000, 0)).toEqual([0, 800]);
    expect(waits(2, 10_000, 1)).toEqual([0, 1_200]);
  });

  it("is none where the limit is 0", () => {
    expect(waits(3, 0)).toEqual([0, 0, 0]);
  });

  it("stays finite, however many attempts have failed", () => {
    expect(waits(2_000, 50).at(-1)).toBe(50);
  });

  it("counts from the beginning of the attempt that failed, which may have taken long", () => {
    const clock = new Clock();
    const backOff = new BackOff({ maxMs: 10_000, now: clock.read, random: () => MIDDLE });
    for (let i = 0; i < 2; i++) {
      backOff.started();
      clock.now += 900;
      backOff.failed(REFUSED);
    }
    expect(backOff.refusal()?.rawMessage).toBe(`${REFUSED.rawMessage} (not tried again for 0.1 s)`);
    clock.now += 100;
    expect(backOff.refusal()).toBeUndefined();
  });

  it("is forgotten with the first attempt that succeeds", () => {
    const backOff = new BackOff({ maxMs: 10_000, now: () => 0 });
    const fail = (): void => {
      backOff.started();
      backOff.failed(REFUSED);
    };
    fail();
    fail();
    backOff.succeeded();
    fail();
    expect(backOff.refusal()).toBeUndefined();
    fail();
    expect(backOff.refusal()).toBeDefined();
  });
});

describe("calls to a server that cannot be connected to", () => {
  const request: HttpRequest = {
    method: "POST",
    path: "/",
    version: "2",
    headers: new Metadata(),
    body: emptyBody,
    signal: undefined,
  };
  const answering: Connection = {
    streams: 0,
    maxStreams: 100,
    open: true,
    exchange: async () => ({ status: 200, headers: new Metadata(), body: emptyBody, trailers: new Metadata() }),
    ping: async () => {},
    close: async () => {},
    destroy: () => {},
  };

  /** A pool whose attempts to connect end as the test says. */
  function startPool(clock: Clock, connect: Connect): Pool {
    return createPool(connect, {
      maxConnections: 2,
      idleTimeoutMs: 60_000,
      verifyAfterMs: 60_000,
      pingIntervalMs: undefined,
      pingTimeoutMs: 60_000,
      backOff: new BackOff({ maxMs: 10_000, now: clock.read, random: () => MIDDLE }),
    });
  }

  it("make two attempts, and then fail at once, naming the last failure, until it is time for the next", async () => {
    const clock = new Clock();
    let attempts = 0;
    const pool = startPool(clock, async () => {
      attempts++;
      throw new RpcError(Code.Unavailable, `failure ${attempts}`);
    });
    const fail = (): Promise<RpcError> => failureOf(pool.exchange(request));
    expect((await fail()).rawMessage).toBe("failure 1");
    expect((await fail()).rawMessage).toBe("failure 2");
    for (let i = 0; i < 100; i++) {
      const { code, rawMessage, cause } = await fail();
      expect([code, rawMessage]).toEqual([Code.Unavailable, "failure 2 (not tried again for 1.0 s)"]);
      expect(cause).toMatchObject({ rawMessage: "failure 2" });
    }
    clock.now += 999;
    expect((await fail()).rawMessage).toContain("failure 2");
    clock.now += 1;
    expect((await fail()).rawMessage).toBe("failure 3");
    expect(attempts).toBe(3);
    await pool.close();
  });

  it("share the attempt that is under way", async () => {
    let attempts = 0;
    const pool = startPool(new Clock(), async () => {
      attempts++;
      throw REFUSED;
    });
    await Promise.all(Array.from({ length: 50 }, () => failureOf(pool.exchange(request))));
    expect(attempts).toBe(1);
    await pool.close();
  });

  it("are answered when it is time and the server is there again", async () => {
    const clock = new Clock();
    let up = false;
    const pool = startPool(clock, async () => {
      if (up) return answering;
      throw REFUSED;
    });
    for (let i = 0; i < 3; i++) await failureOf(pool.exchange(request));
    up = true;
    await failureOf(pool.exchange(request));
    clock.now += 1_000;
    expect((await pool.exchange(request)).status).toBe(200);
    await pool.close();
  });

  it("are answered by the first retry, over sockets, when the server has come in between", async () => {
    const port = await freePort();
    const client = connectGreeter(`http://127.0.0.1:${port}`);
    expect((await failureOf(client.greet({ name: "Ada" }))).rawMessage).toContain("ECONNREFUSED");
    await startServer({}, {}, port);
    expect((await client.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
  });

  it("make every attempt, over sockets, with maxBackOffMs: 0", async () => {
    const port = await freePort();
    const client = connectGreeter(`http://127.0.0.1:${port}`, { maxBackOffMs: 0 });
    for (let i = 0; i < 5; i++) {
      expect((await failureOf(client.greet({}))).rawMessage).toMatch(/connect ECONNREFUSED 127\.0\.0\.1:\d+$/);
    }
  });
});
