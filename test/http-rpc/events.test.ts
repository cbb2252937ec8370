/** Server streams over HTTP RPC as server-sent events (WHATWG HTML, section 9.2). */
import { Code, createJsonCodec, createRouter, nextEvent, protoCodec, RpcError } from "triple-es";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { GreetServiceHandler } from "../../examples/gen/greet/v1/greet_triple.ts";
import type { HttpResponse } from "../../runtime/src/http/exchange.ts";
import { type GivenRequest, routeGreeter, rpcRequest } from "../support/greeter.ts";
import { ShopDef, shop } from "../support/shop.ts";

const GREET_EACH = { path: "/greet.v1.GreetService/GreetEach", body: '{"names":["Ada","Bob"]}' };

async function textOf({ body }: HttpResponse): Promise<string> {
  return new TextDecoder().decode(await body.bytes(1_000_000));
}

async function ask(
  greetEach: GreetServiceHandler["greetEach"],
  request: GivenRequest = {},
): Promise<[status: number, text: string, errors: unknown[]]> {
  const { exchange, errors } = routeGreeter({ greetEach });
  const response = await exchange(rpcRequest({ ...GREET_EACH, ...request }));
  return [response.status, await textOf(response), errors];
}

const PLAIN = 'data: {"greeting":"Hello, Ada!"}\n\ndata: {"greeting":"Hello, Bob!"}\n\nevent: end\ndata:\n\n';

describe("a server stream over HTTP RPC", () => {
  it("may come from an iterator whose results are no promises", async () => {
    const steps = ["Ada", "Bob"].map((name) => ({ done: false, value: { greeting: `Hello, ${name}!` } }));
    const next = () => steps.shift() ?? { done: true, value: undefined };
    const [, text] = await ask(() => ({ [Symbol.asyncIterator]: () => ({ next }) }) as never);
    expect(text).toBe(PLAIN);
  });

  it.each([undefined, "*/*", "text/event-stream", "application/json;q=0.5, text/*"])(
    "is sent as events to a client with accept: %s",
    async (accept) => {
      const { exchange } = routeGreeter();
      const response = await exchange(rpcRequest({ ...GREET_EACH, headers: { accept } }));
      expect([response.status, [...response.headers]]).toEqual([
        200,
        [
          ["content-type", "text/event-stream"],
          ["x-content-type-options", "nosniff"],
          ["cache-control", "no-cache, no-transform"],
          ["x-accel-buffering", "no"],
        ],
      ]);
      expect(await textOf(response)).toBe(PLAIN);
    },
  );

  it("is refused for a client that accepts no events", async () => {
    const { exchange } = routeGreeter();
    const response = await exchange(rpcRequest({ ...GREET_EACH, headers: { accept: "application/json" } }));
    expect(response.status).toBe(406);
    expect(JSON.parse(await textOf(response)).message).toMatch(/accept: application\/json.*is text\/event-stream/);
  });

  it("is refused by a server without JSON", async () => {
    const { exchange } = routeGreeter({}, { codecs: [protoCodec] });
    const response = await exchange(
      rpcRequest({ ...GREET_EACH, headers: { "content-type": "application/proto" }, body: "" }),
    );
    expect([response.status, JSON.parse(await textOf(response)).message]).toEqual([
      415,
      expect.stringContaining("GreetEach is server streaming; that needs gRPC"),
    ]);
  });

  it("has the metadata of its response, and the headers of its request", async () => {
    const { exchange } = routeGreeter({
      async *greetEach(_, context) {
        context.responseHeaders.set("x-answer", "42");
        yield { greeting: context.requestHeaders.get("last-event-id") ?? "" };
      },
    });
    const response = await exchange(rpcRequest({ ...GREET_EACH, headers: { "last-event-id": "7" } }));
    expect(response.headers.get("x-answer")).toBe("42");
    expect(await textOf(response)).toContain('data: {"greeting":"7"}');
  });

  it("has the fields that the handler sets for the next message", async () => {
    const [, text] = await ask(async function* (_, { values }) {
      values.set(nextEvent, { id: "a 1", retryMs: 500 });
      yield { greeting: "1" };
      yield { greeting: "2" };
      values.set(nextEvent, { id: "" });
      yield { greeting: "3" };
    });
    expect(text.split("\n\n").slice(0, 3)).toEqual([
      'id: a 1\nretry: 500\ndata: {"greeting":"1"}',
      'data: {"greeting":"2"}',
      'id: \ndata: {"greeting":"3"}',
    ]);
  });

  it.each([[{ id: "a\nb" }], [{ id: "a\rb" }], [{ id: "a\0b" }], [{ id: "ä" }], [{ retryMs: -1 }], [{ retryMs: 0.5 }]])(
    "fails for %j, which would not be an event, and reports it",
    async (fields) => {
      const [status, text, errors] = await ask(async function* (_, { values }) {
        yield { greeting: "1" };
        values.set(nextEvent, fields);
        yield { greeting: "2" };
      });
      expect([status, errors]).toEqual([200, [expect.any(TypeError)]]);
      expect(text).toMatch(/^data: \{"greeting":"1"\}\n\nevent: failure\ndata: \{.*internal server error.*\}\n\n$/);
    },
  );

  it("has a line for each line of its codec", async () => {
    const json = createJsonCodec();
    const codec = { ...json, encode: () => new TextEncoder().encode('{\r\n"greeting":\n"a"\r}') };
    const { exchange } = routeGreeter({}, { codecs: [codec] });
    const text = await textOf(await exchange(rpcRequest(GREET_EACH)));
    expect(text.split("\n\n")[0]).toBe('data: {\ndata: "greeting":\ndata: "a"\ndata: }');
  });

  it("of an interface method has its arguments in an array, and its results in JSON", async () => {
    const router = createRouter().add(ShopDef, shop);
    const response = await router.exchange(rpcRequest({ path: "/com.acme.Shop/count", body: "[1,2]" }));
    expect(await textOf(response)).toBe("data: 1\n\ndata: 2\n\nevent: end\ndata:\n\n");
  });

  it("that fails before its first message has the status and body of the error", async () => {
    const [status, text] = await ask(async function* ({ names }) {
      await Promise.resolve();
      if (names.length > 0) throw new RpcError(Code.NotFound, "no such list");
      yield {};
    });
    expect([status, JSON.parse(text)]).toEqual([404, expect.objectContaining({ message: "no such list" })]);
  });

  it("that fails after a message ends with the body of the error as an event", async () => {
    const [status, text, errors] = await ask(async function* () {
      yield { greeting: "1" };
      throw new Error("secret");
    });
    const [, last = ""] = text.split("\n\n");
    const [name, data = ""] = last.split("\n");
    expect([status, name, JSON.parse(data.slice("data: ".length)).message]).toEqual([
      200,
      "event: failure",
      "the service failed to handle the call",
    ]);
    expect(errors).toEqual([expect.objectContaining({ message: "secret" })]);
  });

  it("ends its handler if the headers of its response are over the limit", async () => {
    let isOver = false;
    const { exchange } = routeGreeter({
      async *greetEach(_, { responseHeaders }) {
        try {
          responseHeaders.set("x-large", "x".repeat(100_000));
          yield { greeting: "1" };
        } finally {
          isOver = true;
        }
      },
    });
    const { status } = await exchange(rpcRequest(GREET_EACH));
    await new Promise((resolve) => setImmediate(resolve));
    expect([status, isOver]).toEqual([500, true]);
  });

  it("is refused if its request cannot be decoded", async () => {
    const [status] = await ask(() => expect.unreachable(), { body: '{"names":1}' });
    expect(status).toBe(400);
  });

  it("ends its handler when the reader leaves", async () => {
    let ended = false;
    const { exchange } = routeGreeter({
      async *greetEach() {
        try {
          for (;;) yield { greeting: "again" };
        } finally {
          ended = true;
        }
      },
    });
    const { body } = await exchange(rpcRequest(GREET_EACH));
    let read = 0;
    for await (const _ of body) if (++read === 3) break;
    expect(ended).toBe(true);
  });

  it("produces no more than is read", async () => {
    let produced = 0;
    const { exchange } = routeGreeter({
      async *greetEach() {
        for (;;) yield { greeting: String(produced++) };
      },
    });
    const { body } = await exchange(rpcRequest(GREET_EACH));
    const chunks = body[Symbol.asyncIterator]();
    for (let i = 0; i < 5; i++) await chunks.next();
    expect(produced).toBe(5);
    await chunks.return?.();
  });
});

describe("a client stream over HTTP RPC", () => {
  it("is refused", async () => {
    const { exchange } = routeGreeter();
    const response = await exchange(rpcRequest({ path: "/greet.v1.GreetService/GreetTogether" }));
    expect(response.status).toBe(415);
  });
});

describe("a quiet stream", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  it("sends a comment every 15 seconds", async () => {
    let release = (): void => {};
    const { exchange } = routeGreeter({
      async *greetEach(_, context) {
        context.sendHeaders();
        await new Promise<void>((resolve) => {
          release = resolve;
        });
        yield { greeting: "late" };
      },
    });
    const { status, body } = await exchange(rpcRequest(GREET_EACH));
    expect(status).toBe(200);
    const chunks = body[Symbol.asyncIterator]();
    const next = async (): Promise<string | undefined> => {
      const { value } = await chunks.next();
      return value && new TextDecoder().decode(value);
    };
    for (let i = 0; i < 2; i++) {
      const comment = next();
      await vi.advanceTimersByTimeAsync(15_000);
      expect(await comment).toBe(":\n\n");
    }
    const message = next();
    await vi.advanceTimersByTimeAsync(1_000);
    release();
    expect(await message).toBe('data: {"greeting":"late"}\n\n');
    expect(await next()).toBe("event: end\ndata:\n\n");
    expect(await next()).toBeUndefined();
  });

  it("keeps no callbacks of the comments that it has sent", async () => {
    const never = new Promise<never>(() => {});
    const then = vi.spyOn(never, "then");
    const { exchange } = routeGreeter({
      greetEach(_, context) {
        context.sendHeaders();
        return { [Symbol.asyncIterator]: () => ({ next: () => never }) };
      },
    });
    const { body } = await exchange(rpcRequest(GREET_EACH));
    const chunks = body[Symbol.asyncIterator]();
    const counts: number[] = [];
    for (let i = 0; i < 3; i++) {
      const comment = chunks.next();
      await vi.advanceTimersByTimeAsync(15_000);
      await comment;
      counts.push(then.mock.calls.length);
    }
    expect(counts).toEqual(Array(3).fill(counts[0]));
  });

  it("ends with a failure at its deadline, though its handler does not", async () => {
    const { exchange } = routeGreeter({
      async *greetEach() {
        yield { greeting: "1" };
        await new Promise(() => {});
      },
    });
    const headers = { "rest-service-timeout": "1000", "tri-service-timeout": "1000" };
    const { body } = await exchange(rpcRequest({ ...GREET_EACH, headers }));
    const chunks = body[Symbol.asyncIterator]();
    await chunks.next();
    const last = chunks.next();
    await vi.advanceTimersByTimeAsync(1_000);
    const { value } = await last;
    expect(new TextDecoder().decode(value)).toMatch(/^event: failure\ndata: .*deadline/);
    expect((await chunks.next()).done).toBe(true);
  });

  it("ends its handler, if the first message comes after the deadline", async () => {
    let isOver = false;
    const { exchange } = routeGreeter({
      async *greetEach() {
        try {
          await new Promise((resolve) => setTimeout(resolve, 2_000));
          yield { greeting: "late" };
        } finally {
          isOver = true;
        }
      },
    });
    const answer = exchange(rpcRequest({ ...GREET_EACH, headers: { "tri-service-timeout": "1000" } }));
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await answer).status).toBe(408);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(isOver).toBe(true);
  });
});
