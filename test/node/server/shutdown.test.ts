/**
 * The end of the grace period of a server: a handler that waits for the rest of a request is notified, and so is the
 * caller, before the connection is closed.
 */
import { once } from "node:events";
import { Code } from "triple-es";
import { describe, expect, it } from "vitest";
import { Http1Connection, Http2Connection } from "../../support/connection.ts";
import { aborted, connectGreeter, failureOf, signalled, startServer } from "../../support/server.ts";

const GREET = "/greet.v1.GreetService/Greet";
const GRACE = { graceMs: 20 };
const GONE = { code: Code.Unavailable, rawMessage: "the server is shutting down" };

/** Requests, one of which is sent, and no other before the promise settles. */
async function* one(then: Promise<unknown>): AsyncGenerator<{ name: string }, void> {
  yield { name: "Ada" };
  await then;
}

describe("a handler that waits for more requests when its server ends", () => {
  it.each(["greetTogether", "greetOnArrival"] as const)("in %s is notified, and so is its caller", async (method) => {
    const [waiting, over] = [signalled(), signalled()];
    const seen: unknown[] = [];
    async function read(requests: AsyncIterable<unknown>): Promise<void> {
      try {
        for await (const _ of requests) waiting.resolve();
      } catch (reason) {
        seen.push(reason);
        throw reason;
      }
    }
    const { server, baseUrl } = await startServer({
      greetTogether: async (requests, context) => {
        await read(requests);
        seen.push(context.signal.aborted);
        return {};
      },
      // biome-ignore lint/correctness/useYield: it fails before there is anything to yield
      async *greetOnArrival(requests) {
        await read(requests);
      },
    });
    const failed = failureOf(connectGreeter(baseUrl)[method](one(over.promise)));
    await waiting.promise;
    const closed = server.close(GRACE);
    expect(await failed).toMatchObject(GONE);
    expect(seen).toEqual([expect.objectContaining(GONE)]);
    over.resolve();
    await closed;
  });

  it("may still answer", async () => {
    const [waiting, over] = [signalled(), signalled()];
    const { server, baseUrl } = await startServer({
      async greetTogether(requests, { signal }) {
        const names: string[] = [];
        try {
          for await (const { name } of requests) {
            names.push(name);
            waiting.resolve();
          }
        } catch {
          names.push(signal.aborted ? "others" : "an unexpected error");
        }
        return { greeting: names.join(" and ") };
      },
    });
    const called = connectGreeter(baseUrl).greetTogether(one(over.promise));
    await waiting.promise;
    const closed = server.close(GRACE);
    expect((await called).greeting).toBe("Ada and others");
    over.resolve();
    await closed;
  });

  it("is notified by its signal", async () => {
    const waiting = signalled();
    const { server, baseUrl } = await startServer({
      async greetTogether(_requests, { signal }) {
        waiting.resolve();
        throw await aborted(signal);
      },
    });
    const over = signalled();
    const failed = failureOf(connectGreeter(baseUrl).greetTogether(one(over.promise)));
    await waiting.promise;
    const closed = server.close(GRACE);
    expect(await failed).toMatchObject(GONE);
    over.resolve();
    await closed;
  });
});

describe("a unary call whose message is incomplete when its server ends", () => {
  it.each([
    ["application/grpc", [0, 0, 0, 0, 9, 1]],
    ["application/json", [0x5b, 0x7b]],
  ] as const)("is answered over HTTP/2, with %s", async (type, bytes) => {
    const { server, baseUrl } = await startServer();
    const headers = { ":method": "POST", ":path": GREET, "content-type": type };
    const stream = new Http2Connection(baseUrl).session.request(headers);
    const answered = once(stream, "response");
    const flushed = new Promise((resolve) => stream.write(Uint8Array.from(bytes), resolve));
    await flushed;
    // This call uses another connection, so that the server has read the data of the first one.
    await connectGreeter(baseUrl).greet({});
    const closed = server.close(GRACE);
    const [received] = await answered;
    expect([received[":status"], received["grpc-status"]]).toEqual(
      type === "application/grpc" ? [200, String(Code.Unavailable)] : [503, undefined],
    );
    await closed;
  });

  it("is answered over HTTP/1.1, and its connection closed", async () => {
    const { server, baseUrl, port } = await startServer();
    const connection = await Http1Connection.open(port);
    connection.write(
      `POST ${GREET} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n[`,
    );
    await connectGreeter(baseUrl).greet({});
    const closed = server.close(GRACE);
    const { status, headers, body } = await connection.answer();
    expect([status, headers["connection"]]).toEqual([503, "close"]);
    expect(JSON.parse(body.toString())).toMatchObject({ message: "the server is shutting down" });
    await closed;
  });
});
