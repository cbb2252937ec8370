/** The persistent connections of a client over HTTP/1.1 (RFC 9112, section 9.3): their reuse and their end. */
import { AsyncLocalStorage } from "node:async_hooks";
import { createServer, type OutgoingHttpHeaders } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it, onTestFinished, vi } from "vitest";
import { Metadata } from "../../../runtime/src/call/metadata.ts";
import { ConnectionBackoff } from "../../../runtime/src/connection/attempts.ts";
import { WholeBody } from "../../../runtime/src/http/body.ts";
import { UNOBSERVED } from "../../../runtime/src/http/transparent-retry.ts";
import { DEFAULT_IDLE_MS, Http1Pool } from "../../../runtime/src/node/client/http1.ts";
import { resolveLimits } from "../../../runtime/src/node/server/listener/limits.ts";
import { connectGreeter, failureOf } from "../../support/server.ts";

const options = { protocol: "http-rpc", codec: "json" } as const;
const storage = new AsyncLocalStorage<unknown>();

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

interface Http1Server {
  readonly baseUrl: string;
  /** All connections, in the order in which they were made. */
  readonly sockets: Socket[];
  /** The index of the connection of each request. */
  readonly used: number[];
}

/** Starts a server that answers every call with the given fields, after `release` has settled. */
async function startHttp1(fields: OutgoingHttpHeaders = {}, release: Promise<unknown> = Promise.resolve()) {
  const sockets: Socket[] = [];
  const used: number[] = [];
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    used.push(sockets.indexOf(request.socket));
    request.resume();
    void release.then(() => {
      response.writeHead(200, { "content-type": "application/json", ...fields });
      response.end(JSON.stringify({ greeting: "Hello!" }));
    });
  });
  server.on("connection", (socket) => sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { baseUrl, sockets, used } satisfies Http1Server;
}

it("calls one after the other share a connection", async () => {
  const { baseUrl, used } = await startHttp1();
  const client = connectGreeter(baseUrl, options);
  for (let call = 1; call <= 5; call++) expect((await client.greet({})).greeting).toBe("Hello!");
  expect(used).toEqual([0, 0, 0, 0, 0]);
});

it("a connection is closed if a response arrives that belongs to no call", async () => {
  const { baseUrl, sockets, used } = await startHttp1();
  const client = connectGreeter(baseUrl, options);
  expect((await client.greet({})).greeting).toBe("Hello!");
  const [first] = sockets as [Socket];
  const fields = "content-type: application/json\r\ncontent-length: 20";
  first.write(`HTTP/1.1 200 OK\r\n${fields}\r\n\r\n{"greeting":"forged"}`);
  await expect.poll(() => first.destroyed).toBe(true);
  expect((await client.greet({})).greeting).toBe("Hello!");
  expect(used).toEqual([0, 1]);
});

it("calls at the same time have a connection each, which later calls use again", async () => {
  let release = (): void => {};
  const { baseUrl, sockets, used } = await startHttp1({}, new Promise<void>((resolve) => (release = resolve)));
  const client = connectGreeter(baseUrl, options);
  const first = [1, 2, 3].map(() => client.greet({}));
  await expect.poll(() => used.toSorted()).toEqual([0, 1, 2]);
  release();
  await Promise.all(first);
  await Promise.all([1, 2, 3].map(() => client.greet({})));
  expect(used.slice(3).toSorted()).toEqual([0, 1, 2]);
  expect(sockets).toHaveLength(3);
});

it("a connection is closed after the idle timeout, and the next call makes another", async () => {
  const { baseUrl, sockets, used } = await startHttp1();
  const client = connectGreeter(baseUrl, { ...options, idleTimeoutMs: 30 });
  await client.greet({});
  await client.greet({});
  await expect.poll(() => sockets.every((socket) => socket.destroyed)).toBe(true);
  const before = sockets.length;
  await client.greet({});
  expect(used.at(-1)).toBe(before);
});

it("a connection is closed when the server's announced timeout (keep-alive) has passed", async () => {
  const { baseUrl, sockets } = await startHttp1({ connection: "keep-alive", "keep-alive": "timeout=1" });
  await connectGreeter(baseUrl, options).greet({});
  await expect.poll(() => sockets[0]?.destroyed, { timeout: 20_000 }).toBe(true);
});

it("a connection is closed by default before the server ends it", async () => {
  expect(DEFAULT_IDLE_MS).toBeLessThan(resolveLimits().http1IdleTimeoutMs);
  const { baseUrl, sockets, used } = await startHttp1();
  const client = connectGreeter(baseUrl, options);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  for (const idleMs of [0, DEFAULT_IDLE_MS - 1, DEFAULT_IDLE_MS]) {
    await vi.advanceTimersByTimeAsync(idleMs);
    await client.greet({});
  }
  expect([used, sockets.length]).toEqual([[0, 0, 1], 2]);
});

it("a connection that the server has closed while it was idle is not used again", async () => {
  const { baseUrl, sockets, used } = await startHttp1();
  const client = connectGreeter(baseUrl, options);
  await Promise.all([client.greet({}), client.greet({})]);
  for (const socket of sockets) socket.end();
  await expect.poll(() => sockets.every((socket) => socket.destroyed)).toBe(true);
  await Promise.all([client.greet({}), client.greet({})]);
  expect(used.slice(2).toSorted()).toEqual([2, 3]);
});

it("a connection is not used again after a response with `connection: close`", async () => {
  const { baseUrl, used } = await startHttp1({ connection: "close" });
  const client = connectGreeter(baseUrl, options);
  await client.greet({});
  await client.greet({});
  expect(used).toEqual([0, 1]);
});

it("a connection is not used again after a cancelled call", async () => {
  const { baseUrl, used } = await startHttp1({}, new Promise(() => {}));
  const client = connectGreeter(baseUrl, options);
  for (const [index] of ["first", "second"].entries()) {
    const controller = new AbortController();
    const failure = failureOf(client.greet({}, { signal: controller.signal }));
    await expect.poll(() => used.at(-1)).toBe(index);
    controller.abort();
    await failure;
  }
  expect(used).toEqual([0, 1]);
});

it("the asynchronous context of a call is not kept as long as its connection", async () => {
  const { baseUrl, used } = await startHttp1();
  const client = connectGreeter(baseUrl, options);
  const store = await (async () => {
    const held = { name: "a store" };
    await storage.run(held, () => client.greet({}));
    return new WeakRef(held);
  })();
  // The objects of the last exchange stay in memory until the next one.
  await client.greet({});
  const isReleased = (): boolean => {
    collectGarbage();
    return store.deref() === undefined;
  };
  await expect.poll(isReleased, { timeout: 20_000 }).toBe(true);
  expect(used).toEqual([0, 0]);
});

it("an idle connection keeps no body of its last exchange", async () => {
  const { baseUrl, used } = await startHttp1();
  const origin = new URL(baseUrl);
  const pool = new Http1Pool(
    { origin, socketPath: undefined, tls: undefined, peer: origin.host },
    {
      connectTimeoutMs: 10_000,
      idleTimeoutMs: 60_000,
      waitForReady: undefined,
      backoff: new ConnectionBackoff(0),
      maxHeaderBytes: 65_536,
    },
  );
  onTestFinished(() => pool.close());
  const exchange = async (): Promise<WeakRef<object>[]> => {
    const sent = new Uint8Array(1_000_000);
    const response = await pool.observed(UNOBSERVED)({
      method: "POST",
      path: "/",
      version: "1.1",
      headers: new Metadata(),
      body: new WholeBody(sent),
      signal: undefined,
    });
    return [new WeakRef(sent), new WeakRef(await response.body.bytes(1_000)), new WeakRef(response.body)];
  };
  const references = await exchange();
  const isReleased = (): boolean => {
    collectGarbage();
    return references.every((reference) => reference.deref() === undefined);
  };
  await expect.poll(isReleased, { timeout: 20_000 }).toBe(true);
  await exchange();
  expect(used).toEqual([0, 0]);
});
