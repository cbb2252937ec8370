/** Clients: the effect of options of a stub, and the handling of responses and streams. */
import { describe, expect, it, vi } from "vitest";
import {
  createGreetServiceClient,
  GreetService_greet,
  type GreetServiceClient,
  GreetServiceDef,
} from "../../examples/gen/greet/v1/greet_triple.ts";
import {
  type Call,
  type CallRequest,
  type CallResponse,
  createContextKey,
  type StreamRequest,
  type UnaryRequest,
} from "../../runtime/src/call/call.ts";
import { Code, Status } from "../../runtime/src/call/code.ts";
import { createContextValues } from "../../runtime/src/call/context.ts";
import { RpcError } from "../../runtime/src/call/error.ts";
import { Metadata } from "../../runtime/src/call/metadata.ts";
import { type CallDefaults, type CallOptions, createClient, createStub } from "../../runtime/src/client/client.ts";
import { pause } from "../support/pause.ts";
import { arriving, failureOf, greetings, signalled } from "../support/server.ts";

const greeting = (text: string): CallResponse => ({
  stream: false,
  message: { greeting: text },
  headers: new Metadata({ lead: "1" }),
  trailers: new Metadata({ trail: "2" }),
});

const streamOf = (messages: AsyncIterable<object>): CallResponse => ({
  stream: true,
  messages,
  headers: new Metadata({ lead: "1" }),
  trailers: new Metadata({ trail: "2" }),
});

async function* greetingsOf(...texts: string[]): AsyncGenerator<object, void> {
  for (const text of texts) yield { greeting: text };
}

/** A client with the given call. */
function client(call: Call, defaults: CallDefaults = {}): GreetServiceClient {
  return createGreetServiceClient({ call }, defaults);
}

/** The arguments of a unary call. */
async function requestOf(defaults: CallDefaults, options?: CallOptions): Promise<CallRequest> {
  let made: CallRequest | undefined;
  const call: Call = async (request) => {
    made = request;
    return greeting("Hi");
  };
  await client(call, defaults).greet({ name: "Ada" }, options);
  return made as CallRequest;
}

/** Returns the rejections that were not handled during the work and shortly after. */
async function unhandledDuring(work: () => Promise<unknown> | unknown): Promise<unknown[]> {
  const unhandled: unknown[] = [];
  const listener = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", listener);
  await work();
  await pause(5);
  process.off("unhandledRejection", listener);
  return unhandled;
}

describe("a client", () => {
  it("has a function for every method, and nothing else that could be mistaken for one", () => {
    const made = client(async () => greeting("Hi"));
    expect(Object.keys(made)).toEqual(["greet", "greetEach", "greetTogether", "greetOnArrival"]);
    expect("then" in made).toBe(false);
    expect("toString" in made).toBe(false);
  });

  it("can be a single function", async () => {
    const greet = createStub(GreetService_greet, { call: async () => greeting("Hi") });
    expect((await greet({ name: "Ada" })).greeting).toBe("Hi");
  });

  it("passes the message on unchanged", async () => {
    expect(((await requestOf({})) as UnaryRequest).message).toEqual({ name: "Ada" });
  });
});

describe("options", () => {
  it("have metadata that replaces all default fields of the same name", async () => {
    const defaults = {
      headers: [
        ["a", "1"],
        ["b", "2"],
        ["a", "3"],
      ] as [string, string][],
    };
    const { headers } = await requestOf(defaults, { headers: { A: ["4", "5"], c: "6" } });
    expect([...headers].map(([name, value]) => `${name}=${value}`)).toEqual(["b=2", "a=4", "a=5", "c=6"]);
  });

  it("are not changed by a call that changes its metadata", async () => {
    const defaults = { headers: new Metadata({ a: "1" }) };
    const options = { headers: new Metadata({ b: "2" }) };
    const { headers } = await requestOf(defaults, options);
    headers.append("c", "3");
    expect([defaults.headers.size, options.headers.size]).toEqual([1, 1]);
    expect((await requestOf(defaults, options)).headers.size).toBe(2);
  });

  it.each<[string, CallDefaults, CallOptions | undefined, number | undefined]>([
    ["none", {}, undefined, undefined],
    ["the default", { timeoutMs: 5000 }, undefined, 5000],
    ["the call's own", { timeoutMs: 5000 }, { timeoutMs: 1000 }, 1000],
    ["none, by infinity", { timeoutMs: 5000 }, { timeoutMs: Number.POSITIVE_INFINITY }, undefined],
  ])("have a timeout: %s", async (_which, defaults, options, expected) => {
    let left: number | undefined;
    const call: Call = async ({ context }) => {
      left = context.timeoutMs();
      return greeting("Hi");
    };
    await client(call, defaults).greet({}, options);
    if (expected === undefined) expect(left).toBeUndefined();
    else expect(Math.ceil((left as number) / 1000) * 1000).toBe(expected);
  });

  it.each<[string, CallDefaults, CallOptions | undefined, object]>([
    ["none", {}, undefined, { version: undefined, group: undefined }],
    ["the defaults", { version: "1", group: "g" }, undefined, { version: "1", group: "g" }],
    ["the call's own, one by one", { version: "1", group: "g" }, { version: "2" }, { version: "2", group: "g" }],
  ])("select a version and a group: %s", async (_which, defaults, options, expected) => {
    expect((await requestOf(defaults, options)).selector).toEqual(expected);
  });

  it("select version and group of the service definition by default", async () => {
    const seen: unknown[] = [];
    const call: Call = async ({ selector }) => {
      seen.push(selector);
      return greeting("Hi");
    };
    const service = { ...GreetServiceDef, selector: { version: "1", group: "g" } };
    const transport = { call };
    await createClient(service, transport).greet({});
    await createClient(service, transport, { version: "2" }).greet({});
    await createClient(service, transport, { version: "2" }).greet({}, { group: "h" });
    expect(seen).toEqual([
      { version: "1", group: "g" },
      { version: "2", group: "g" },
      { version: "2", group: "h" },
    ]);
  });

  it("carry values for interceptors", async () => {
    const user = createContextKey("anonymous");
    const values = createContextValues().set(user, "Ada");
    expect((await requestOf({}, { values })).context.values.get(user)).toBe("Ada");
  });

  it.each([undefined, 1_000])(
    "take the response of an interceptor that is not async, timeout %s",
    async (timeoutMs) => {
      const call = () => greeting("Ada") as never;
      expect((await client(call).greet({}, { timeoutMs })).greeting).toBe("Ada");
    },
  );

  it.each([-1, Number.NaN, Number.NEGATIVE_INFINITY])("do not have a timeout of %d", async (timeoutMs) => {
    const call = vi.fn<Call>();
    const refused = { code: Code.InvalidArgument, status: Status.ClientError };
    const made = client(call);
    await expect(made.greet({}, { timeoutMs })).rejects.toMatchObject(refused);
    await expect(made.greetTogether(arriving(), { timeoutMs })).rejects.toMatchObject(refused);
    await expect(greetings(made.greetEach({}, { timeoutMs }))).rejects.toMatchObject(refused);
    await expect(greetings(made.greetOnArrival(arriving(), { timeoutMs }))).rejects.toMatchObject(refused);
    expect(call).not.toHaveBeenCalled();
  });

  it("fail the call without sending it if the timeout is 0", async () => {
    const call = vi.fn<Call>();
    const made = client(call, { timeoutMs: 0 });
    const late = { code: Code.DeadlineExceeded, status: Status.ClientTimeout };
    expect(await failureOf(made.greet({}))).toMatchObject(late);
    expect(await failureOf(made.greetEach({}))).toMatchObject(late);
    expect(await failureOf(made.greetTogether(arriving()))).toMatchObject(late);
    expect(await failureOf(made.greetOnArrival(arriving()))).toMatchObject(late);
    expect(call).not.toHaveBeenCalled();
  });

  it("end a call with their signal, before it or during it", async () => {
    const call = vi.fn<Call>(() => new Promise(() => {}));
    const signal = AbortSignal.abort();
    expect((await failureOf(client(call).greet({}, { signal }))).code).toBe(Code.Canceled);
    expect((await failureOf(client(call).greetEach({}, { signal }))).code).toBe(Code.Canceled);
    expect(call).not.toHaveBeenCalled();
    const controller = new AbortController();
    const running = failureOf(client(call).greet({}, { signal: controller.signal }));
    controller.abort();
    expect((await running).code).toBe(Code.Canceled);
  });
});

describe("metadata of the response", () => {
  const seen: string[] = [];
  const options: CallOptions = {
    onHeaders: (headers) => seen.push(`lead ${headers.get("lead")}`),
    onTrailers: (trailers) => seen.push(`trail ${trailers.get("trail")}`),
  };

  it("is handed over for a single message", async () => {
    seen.length = 0;
    await client(async () => greeting("Hi")).greet({}, options);
    expect(seen).toEqual(["lead 1", "trail 2"]);
  });

  it("is handed over before the first and after the last message of a stream", async () => {
    seen.length = 0;
    const call: Call = async () => streamOf(greetingsOf("a", "b"));
    for await (const { greeting } of client(call).greetEach({}, options)) seen.push(greeting);
    expect(seen).toEqual(["lead 1", "a", "b", "trail 2"]);
  });

  it("is returned if a stream has one response message", async () => {
    seen.length = 0;
    await client(async () => streamOf(greetingsOf("a"))).greetTogether(arriving("Ada"), options);
    expect(seen).toEqual(["lead 1", "trail 2"]);
  });

  it("has no trailers if the stream fails", async () => {
    seen.length = 0;
    async function* failing(): AsyncGenerator<object, void> {
      yield { greeting: "a" };
      throw new RpcError(Code.DataLoss, "lost");
    }
    expect((await failureOf(client(async () => streamOf(failing())).greetEach({}, options))).code).toBe(Code.DataLoss);
    expect(seen).toEqual(["lead 1"]);
  });
});

describe("an answer of the wrong kind", () => {
  it.each<[string, (made: GreetServiceClient) => Promise<unknown> | AsyncIterable<unknown>, CallResponse]>([
    ["a stream for a message", (made) => made.greet({}), streamOf(greetingsOf())],
    ["a message for a stream", (made) => made.greetEach({}), greeting("Hi")],
  ])("%s is an internal error", async (_what, make, response) => {
    expect((await failureOf(make(client(async () => response)))).code).toBe(Code.Internal);
  });

  it.each([
    ["none", []],
    ["more than one", ["a", "b"]],
  ])("%s instead of one message is unimplemented", async (received, texts) => {
    const made = client(async () => streamOf(greetingsOf(...texts)));
    expect(await failureOf(made.greetTogether(arriving("Ada")))).toMatchObject({
      code: Code.Unimplemented,
      rawMessage: expect.stringContaining(received),
    });
  });
});

describe("a stream", () => {
  it("starts when it is read, so that an unread one holds no resources", async () => {
    const call = vi.fn<Call>(async () => streamOf(greetingsOf("a")));
    const responses = client(call).greetEach({ names: [] });
    expect(call).not.toHaveBeenCalled();
    expect(await greetings(responses)).toEqual(["a"]);
    expect(call).toHaveBeenCalledTimes(1);
  });

  it("is never sent if it is left before it is read", async () => {
    const call = vi.fn<Call>(async () => streamOf(greetingsOf("a")));
    const iterator = client(call).greetEach({ names: [] })[Symbol.asyncIterator]();
    await iterator.return?.();
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    expect(call).not.toHaveBeenCalled();
  });

  it("ends at once if it is left while a message is awaited, and its signal fires", async () => {
    let signal: AbortSignal | undefined;
    const call: Call = async (request) => {
      signal = request.context.signal;
      return streamOf(
        (async function* () {
          await new Promise(() => {});
          yield {};
        })(),
      );
    };
    const iterator = client(call).greetEach({ names: [] })[Symbol.asyncIterator]();
    iterator.next().catch(() => {});
    await new Promise((resolve) => setImmediate(resolve));
    await iterator.return?.();
    expect(signal?.aborted).toBe(true);
  });

  it("ends its source if it is left while a message is awaited that arrives nevertheless", async () => {
    const arrived = signalled();
    const left = vi.fn();
    const call: Call = async () =>
      streamOf({
        [Symbol.asyncIterator]: () => ({
          next: async () => {
            await arrived.promise;
            return { done: false, value: {} };
          },
          return: left,
        }),
      });
    const iterator = client(call).greetEach({ names: [] })[Symbol.asyncIterator]();
    const awaited = iterator.next();
    await new Promise((resolve) => setImmediate(resolve));
    await iterator.return?.();
    arrived.resolve();
    expect(await awaited).toEqual({ done: true, value: undefined });
    expect(left).toHaveBeenCalledTimes(1);
  });

  it("is cancelled when onHeaders throws", async () => {
    let signal: AbortSignal | undefined;
    const call: Call = async (request) => {
      signal = request.context.signal;
      return streamOf(greetingsOf("a"));
    };
    const onHeaders = () => {
      throw new Error("mine");
    };
    await expect(greetings(client(call).greetEach({}, { onHeaders }))).rejects.toThrow("mine");
    expect(signal?.aborted).toBe(true);
  });

  it.each([
    ["greet", "onHeaders"],
    ["greet", "onTrailers"],
    ["greetEach", "onHeaders"],
    ["greetEach", "onTrailers"],
  ] as const)("of %s fails if its %s rejects", async (name, callback) => {
    const call: Call = async ({ stream }) => (stream ? streamOf(greetingsOf("a")) : greeting("a"));
    const fail = async () => {
      throw new Error("mine");
    };
    const unhandled = await unhandledDuring(async () => {
      const options = { [callback]: fail };
      const called = client(call);
      const result = name === "greet" ? called.greet({}, options) : greetings(called.greetEach({}, options));
      await expect(result).rejects.toThrow("mine");
    });
    expect(unhandled).toEqual([]);
  });

  it("that has been read to its end does not fire its signal", async () => {
    let signal: AbortSignal | undefined;
    const call: Call = async (request) => {
      signal = request.context.signal;
      return streamOf(greetingsOf("a"));
    };
    await greetings(client(call).greetEach({}));
    expect(signal?.aborted).toBe(false);
  });

  it.each(["an interceptor that forgets return", "a unary answer"])("reports %s", async (mistake) => {
    const call = (async () => (mistake === "a unary answer" ? { stream: false } : undefined)) as unknown as Call;
    await expect(greetings(client(call).greetEach({}))).rejects.toMatchObject({
      code: Code.Internal,
      rawMessage: expect.stringContaining("an interceptor or transport answered /greet.v1.GreetService/GreetEach"),
    });
  });

  it("needs requests that are an async iterable", async () => {
    const requests = async function* () {} as unknown as AsyncIterable<object>;
    await expect(client(vi.fn<Call>()).greetTogether(requests)).rejects.toMatchObject({
      code: Code.InvalidArgument,
      rawMessage: expect.stringContaining("must be an async iterable"),
    });
  });

  it("has one request if it is server streaming", async () => {
    const requests: object[] = [];
    const call: Call = async (request) => {
      for await (const message of (request as StreamRequest).messages) requests.push(message);
      return streamOf(greetingsOf());
    };
    await greetings(client(call).greetEach({ names: ["Ada"] }));
    expect(requests).toEqual([{ names: ["Ada"] }]);
  });

  it("is closed when its reader stops, and so is the call", async () => {
    let closed = false;
    async function* endless(): AsyncGenerator<object, void> {
      try {
        for (;;) yield { greeting: "a" };
      } finally {
        closed = true;
      }
    }
    const controller = new AbortController();
    const removed = vi.spyOn(controller.signal, "removeEventListener");
    const options = { signal: controller.signal, timeoutMs: 60_000 };
    for await (const _ of client(async () => streamOf(endless())).greetEach({}, options)) break;
    await new Promise((resolve) => setImmediate(resolve));
    expect(closed).toBe(true);
    expect(removed).toHaveBeenCalled();
  });

  it("fails when it is read, with the unchanged error", async () => {
    const error = new RpcError(Code.PermissionDenied, "no");
    expect(await failureOf(client(() => Promise.reject(error)).greetEach({}))).toBe(error);
  });

  it("leaves no unhandled rejection if it fails and is never read", async () => {
    const failing: Call = () => Promise.reject(new RpcError(Code.Unavailable, "gone"));
    const unhandled = await unhandledDuring(() => {
      client(failing).greetEach({});
      client(failing).greetOnArrival(arriving("Ada"));
      client(failing, { timeoutMs: 1 }).greetEach({});
      client(() => new Promise(() => {}), { timeoutMs: 1 }).greetEach({});
      client(async () => greeting("Hi")).greetEach({});
    });
    expect(unhandled).toEqual([]);
  });
});
