/** The option `limits` of `add`: size of messages, time and number of calls, by service and by method. */
import { Code, createInMemoryTransport, createRouter, type ServiceLimits, type ServiceOptions } from "triple-es";
import { fetchHandler } from "triple-es/fetch";
import { addHealth, createHealthClient } from "triple-es/health";
import { describe, expect, it } from "vitest";
import {
  createGreetServiceClient,
  type GreetServiceClient,
  GreetServiceDef,
  type GreetServiceHandler,
} from "../../examples/gen/greet/v1/greet_triple.ts";
import { pause } from "../support/pause.ts";
import { aborted, arriving, failureOf, greeter, greetings, signalled } from "../support/server.ts";

function connect(
  protocol: "grpc" | "http-rpc",
  limits: ServiceLimits,
  handler: Partial<GreetServiceHandler> = {},
): GreetServiceClient {
  const router = createRouter({ maxMessageBytes: 1_000 });
  router.add(GreetServiceDef, { ...greeter, ...handler }, { limits });
  return createGreetServiceClient(createInMemoryTransport(router, { protocol }));
}

const name = (length: number): string => "x".repeat(length);

describe.each(["grpc", "http-rpc"] as const)("over %s", (protocol) => {
  it("a service, and one of its methods, accept larger or smaller messages than the router", async () => {
    const larger = connect(protocol, { maxMessageBytes: 10_000 });
    expect((await larger.greet({ name: name(5_000) })).greeting).toHaveLength(5_008);
    const problem = { code: Code.ResourceExhausted, message: expect.stringContaining("limit of 10000 bytes") };
    expect(await failureOf(larger.greet({ name: name(20_000) }))).toMatchObject(problem);
    const smaller = connect(protocol, { maxMessageBytes: 10_000, methods: { greet: { maxMessageBytes: 100 } } });
    expect(await failureOf(smaller.greet({ name: name(500) }))).toMatchObject({ code: Code.ResourceExhausted });
    expect((await smaller.greet({ name: name(50) })).greeting).toHaveLength(58);
  });

  it("maxTimeoutMs ends calls without a timeout, or with a longer one, and their handlers", async () => {
    const ended: unknown[] = [];
    const client = connect(
      protocol,
      { methods: { greet: { maxTimeoutMs: 30 } } },
      {
        greet: async (_, { signal, timeoutMs }) => {
          ended.push((timeoutMs() ?? 0) <= 30);
          await aborted(signal);
          return {};
        },
      },
    );
    for (const options of [{}, { timeoutMs: 60_000 }]) {
      expect(await failureOf(client.greet({}, options))).toMatchObject({
        code: Code.DeadlineExceeded,
        rawMessage: "the deadline of 30 ms has passed",
      });
    }
    expect(ended).toEqual([true, true]);
  });

  it("maxConcurrent of a method counts its calls until they end, however they end", async () => {
    const begun = signalled();
    const finish = signalled();
    const handler: Partial<GreetServiceHandler> = {
      greet: async ({ name }) => {
        if (name === "fail") throw new Error("failed");
        begun.resolve();
        await finish.promise;
        return {};
      },
    };
    const router = createRouter({ onError: () => {} });
    router.add(GreetServiceDef, { ...greeter, ...handler }, { limits: { methods: { greet: { maxConcurrent: 1 } } } });
    const client = createGreetServiceClient(createInMemoryTransport(router, { protocol }));
    for (let i = 0; i < 3; i++) expect((await failureOf(client.greet({ name: "fail" }))).code).toBe(Code.Unknown);
    const running = client.greet({});
    await begun.promise;
    expect(await failureOf(client.greet({}))).toMatchObject({
      code: Code.ResourceExhausted,
      rawMessage: "/greet.v1.GreetService/Greet runs 1 calls already (limit maxConcurrent of the server)",
    });
    finish.resolve();
    await running;
    await client.greet({});
  });
});

it("limits apply to each message of a stream", async () => {
  const client = connect("grpc", { methods: { greetOnArrival: { maxMessageBytes: 10_000 } } });
  expect(await greetings(client.greetOnArrival(arriving(name(5_000))))).toEqual([`Hello, ${name(5_000)}!`]);
  const failure = await failureOf(client.greetOnArrival(arriving("Ada", name(20_000))));
  expect(failure).toMatchObject({ code: Code.ResourceExhausted });
});

it("maxConcurrent of a service counts streams until their end, or until they are left", async () => {
  const client = connect("grpc", { maxConcurrent: 1 });
  expect(await greetings(client.greetEach({ names: ["Ada", "Bob"] }))).toHaveLength(2);
  const stream = client.greetOnArrival(endless())[Symbol.asyncIterator]();
  await stream.next();
  const refused = await failureOf(client.greet({}));
  expect(refused.rawMessage).toBe("greet.v1.GreetService runs 1 calls already (limit maxConcurrent of the server)");
  await stream.return?.();
  let greeting: string | undefined;
  while (greeting === undefined) {
    const answered = await client.greet({ name: "Ada" }).catch(() => undefined);
    greeting = answered?.greeting;
  }
});

it("maxConcurrent counts streams that were left until their handlers return", async () => {
  const finish = signalled();
  const returned: string[] = [];
  const handler: Partial<GreetServiceHandler> = {
    async *greetEach() {
      yield { greeting: "first" };
      await finish.promise;
      returned.push("greetEach");
    },
  };
  const client = connect("grpc", { maxConcurrent: 1 }, handler);
  const caller = new AbortController();
  const stream = client.greetEach({}, { signal: caller.signal })[Symbol.asyncIterator]();
  await stream.next();
  const waiting = failureOf(stream.next());
  caller.abort();
  expect((await waiting).code).toBe(Code.Canceled);
  for (let i = 0; i < 5; i++) {
    await new Promise(setImmediate);
    expect((await failureOf(client.greet({}))).code).toBe(Code.ResourceExhausted);
  }
  finish.resolve();
  while ((await client.greet({}).catch(() => undefined)) === undefined);
  expect(returned).toEqual(["greetEach"]);
});

async function* endless(): AsyncGenerator<{ name: string }, void> {
  for (;;) {
    yield { name: "Ada" };
    await new Promise(setImmediate);
  }
}

it.each([
  [{ maxConcurrent: 0 }, "limits.maxConcurrent must be an integer between 1 and"],
  [{ maxTimeoutMs: 1.5 }, "limits.maxTimeoutMs must be an integer of milliseconds between 1 and"],
  [{ methods: { greet: { maxMessageBytes: -1 } } }, "limits.methods.greet.maxMessageBytes must be an integer"],
  [{ methods: { Greet: {} } }, 'limits.methods: there is no "Greet", did you mean "greet"?'],
  [{ methods: null }, "limits.methods must be an object with some of: greet, greetEach"],
  [{ maxMessages: 1 }, 'limits: "maxMessages" is not among: maxMessageBytes'],
  [null, "limits must be an object with some of: maxMessageBytes, "],
  [5, "limits must be an object with some of: maxMessageBytes, "],
])("refuses %j", (limits, message) => {
  expect(() => createRouter().add(GreetServiceDef, greeter, { limits: limits as ServiceLimits })).toThrow(message);
});

describe("maxTimeoutMs of a router", () => {
  const hang: Partial<GreetServiceHandler> = {
    greet: (_, { signal }) => aborted(signal as AbortSignal).then(() => ({})),
  };
  const over = (protocol: "grpc" | "http-rpc", maxTimeoutMs: number, limits?: ServiceLimits): GreetServiceClient => {
    const router = createRouter({ maxTimeoutMs }).add(GreetServiceDef, { ...greeter, ...hang }, { limits });
    return createGreetServiceClient(createInMemoryTransport(router, { protocol }));
  };

  it.each(["grpc", "http-rpc"] as const)(
    "ends calls with a longer timeout, or without one, over %s",
    async (protocol) => {
      const client = over(protocol, 20);
      for (const timeoutMs of [undefined, 60_000]) {
        const error = await failureOf(client.greet({}, { timeoutMs }));
        expect(error).toMatchObject({ code: Code.DeadlineExceeded, message: expect.stringContaining("20 ms") });
      }
    },
  );

  it("applies to streams", async () => {
    const router = createRouter({ maxTimeoutMs: 20 }).add(GreetServiceDef, {
      ...greeter,
      async *greetEach(_, { signal }) {
        yield {};
        await aborted(signal as AbortSignal);
      },
    });
    const client = createGreetServiceClient(createInMemoryTransport(router));
    expect(await failureOf(greetings(client.greetEach({})))).toMatchObject({ code: Code.DeadlineExceeded });
  });

  it("gives way to the limit of a service or method, and `Infinity` lifts it", async () => {
    const service = over("grpc", 60_000, { maxTimeoutMs: 20 });
    expect((await failureOf(service.greet({}))).code).toBe(Code.DeadlineExceeded);
    const lifted = over("grpc", 1, { methods: { greet: { maxTimeoutMs: Number.POSITIVE_INFINITY } } });
    const controller = new AbortController();
    const failure = failureOf(lifted.greet({}, { signal: controller.signal }));
    setTimeout(() => controller.abort(), 50);
    expect((await failure).code).toBe(Code.Canceled);
  });

  it.each([
    ["without options", {}],
    ["with other limits", { limits: { maxConcurrent: 10, methods: { watch: { maxConcurrent: 5 } } } }],
    ["with limits that are undefined", { limits: undefined }],
  ])("does not end watches of the health service %s", async (_options, options) => {
    const router = createRouter({ maxTimeoutMs: 1 });
    const health = addHealth(router, options);
    const watch = createHealthClient(createInMemoryTransport(router)).watch({})[Symbol.asyncIterator]();
    expect((await watch.next()).done).toBe(false);
    await pause(50);
    health.set("", "not_serving");
    expect((await watch.next()).done).toBe(false);
    await watch.return?.();
  });

  it("ends watches of the health service if its limits say so", async () => {
    const router = createRouter();
    addHealth(router, { limits: { maxTimeoutMs: 20 } });
    const watch = createHealthClient(createInMemoryTransport(router)).watch({})[Symbol.asyncIterator]();
    expect((await watch.next()).done).toBe(false);
    expect(await failureOf(watch.next())).toMatchObject({ code: Code.DeadlineExceeded });
  });

  it.each([0, -1, 1.5, Number.NaN, 2 ** 31, "5" as never])("must not be %s", (maxTimeoutMs) => {
    expect(() => createRouter({ maxTimeoutMs })).toThrow(/^maxTimeoutMs must be an integer of milliseconds/);
  });
});

describe("compressMinBytes of a service", () => {
  /** Calls with a response of about 2,000 bytes, and reports whether it was compressed. */
  async function compresses(
    options: ServiceOptions,
    type: "json" | "grpc-web+json",
    method = "Greet",
  ): Promise<boolean> {
    const router = createRouter().add(GreetServiceDef, greeter, options);
    const message = method === "Greet" ? { name: name(2_000) } : { names: [name(2_000)] };
    const json = new TextEncoder().encode(JSON.stringify(message));
    const envelope = new Uint8Array(5 + json.length);
    new DataView(envelope.buffer).setUint32(1, json.length);
    envelope.set(json, 5);
    const response = await fetchHandler(router)(
      new Request(`http://localhost/greet.v1.GreetService/${method}`, {
        method: "POST",
        headers: { "content-type": `application/${type}`, "accept-encoding": "gzip", "grpc-accept-encoding": "gzip" },
        body: type === "json" ? json : envelope,
      }),
    );
    expect(response.status).toBe(200);
    if (type === "json") return response.headers.get("content-encoding") === "gzip";
    return new Uint8Array(await response.arrayBuffer())[0] === 1;
  }

  it.each([
    ["json", "Greet"],
    ["grpc-web+json", "Greet"],
    ["grpc-web+json", "GreetEach"],
  ] as const)("replaces that of the router, for all methods or some, with %s and %s", async (type, method) => {
    const own = method === "Greet" ? "greet" : "greetEach";
    expect(await compresses({}, type, method)).toBe(true);
    expect(await compresses({ compressMinBytes: Number.POSITIVE_INFINITY }, type, method)).toBe(false);
    expect(await compresses({ compressMinBytes: { [own]: 1_000_000 } }, type, method)).toBe(false);
    expect(await compresses({ compressMinBytes: { greetTogether: 1_000_000 } }, type, method)).toBe(true);
    expect(await compresses({ compressMinBytes: { [own]: 100 } }, type, method)).toBe(true);
  });

  it("is refused if it is invalid", () => {
    const add = (compressMinBytes: never) => () => createRouter().add(GreetServiceDef, greeter, { compressMinBytes });
    expect(add(-1 as never)).toThrow("compressMinBytes must be 0 or more, not -1");
    expect(add({ greet: "1" } as never)).toThrow('compressMinBytes must be 0 or more, not "1"');
    expect(add({ Greet: 1 } as never)).toThrow('compressMinBytes: there is no "Greet", did you mean "greet"?');
    expect(add(null as never)).toThrow("compressMinBytes must be an object with some of: greet, ");
  });
});
