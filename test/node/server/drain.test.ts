/** Streams that continue until the server begins to close, which `server.onClose` reports. */
import { EventEmitter, on } from "node:events";
import { Code, RpcError } from "triple-es";
import { expect, it, onTestFinished, vi } from "vitest";
import { connectGreeter, failureOf, signalled, startServer } from "../../support/server.ts";

it("a watcher that listens to onClose does not keep the server open for the grace period", async () => {
  const draining = new AbortController();
  const begun = signalled();
  const { server, baseUrl } = await startServer({
    async *greetEach(_, { signal }) {
      begun.resolve();
      try {
        const events = on(new EventEmitter(), "event", { signal: AbortSignal.any([signal, draining.signal]) });
        for await (const _ of events) yield {};
      } catch (error) {
        if (!draining.signal.aborted) throw error;
        throw new RpcError(Code.Unavailable, "the server is shutting down");
      }
    },
  });
  server.onClose(() => draining.abort());
  const failure = failureOf(connectGreeter(baseUrl).greetEach({}));
  await begun.promise;
  await server.close({ graceMs: Number.POSITIVE_INFINITY });
  expect(await failure).toMatchObject({ code: Code.Unavailable, rawMessage: "the server is shutting down" });
});

it("a server continues to accept calls until the promises of onClose are settled, and calls each callback once", async () => {
  const left = signalled();
  const { server, baseUrl } = await startServer();
  let runs = 0;
  server.onClose(() => {
    runs++;
    return left.promise;
  });
  const closed = [server.close(), server.close()];
  expect(await connectGreeter(baseUrl).greet({ name: "still" })).toMatchObject({ greeting: "Hello, still!" });
  left.resolve();
  await Promise.all(closed);
  expect(runs).toBe(1);
  expect(await failureOf(connectGreeter(baseUrl).greet({ name: "gone" }))).toMatchObject({ code: Code.Unavailable });
});

it.each([0, 50])(
  "a promise of onClose that never settles delays a close with a grace period of %s ms only",
  async (graceMs) => {
    const { server, baseUrl } = await startServer();
    server.onClose(() => new Promise(() => {}));
    await server.close({ graceMs });
    expect(await failureOf(connectGreeter(baseUrl).greet({}))).toMatchObject({ code: Code.Unavailable });
  },
);

it("an onClose that rejects is reported, and does not keep the server from closing", async () => {
  const report = vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => report.mockRestore());
  const { server } = await startServer();
  const reason = new Error("the registry is gone");
  server.onClose(() => Promise.reject(reason));
  await server.close();
  expect(report.mock.calls).toEqual([["triple-es: the hook onClose failed:", reason]]);
});
