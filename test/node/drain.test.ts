/** Streams that go on until the server begins to close, of which `server.onClose` notifies them. */
import { EventEmitter, on } from "node:events";
import { Code, RpcError } from "triple-es";
import { expect, it } from "vitest";
import { connectGreeter, failureOf, signalled, startServer } from "../support/server.ts";

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
