/** The option `limits` of `add`: size of messages, time and number of calls, by service and by method. */
import { Code, createInMemoryTransport, createRouter, type ServiceLimits } from "triple-es";
import { describe, expect, it } from "vitest";
import {
  createGreetServiceClient,
  type GreetServiceClient,
  GreetServiceDef,
  type GreetServiceHandler,
} from "../../examples/gen/greet/v1/greet_triple.ts";
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

async function* endless(): AsyncGenerator<{ name: string }, void> {
  for (;;) {
    yield { name: "Ada" };
    await new Promise(setImmediate);
  }
}

it.each([
  [{ maxConcurrent: 0 }, "limits.maxConcurrent must be an integer between 1 and"],
  [{ maxTimeoutMs: 1.5 }, "limits.maxTimeoutMs must be an integer between 1 and"],
  [{ methods: { greet: { maxMessageBytes: -1 } } }, "limits.methods.greet.maxMessageBytes must be an integer"],
  [{ methods: { Greet: {} } }, 'limits: "Greet" is not among: greet, greetEach'],
  [{ maxMessages: 1 }, 'limits: "maxMessages" is not among: maxMessageBytes'],
])("refuses %j", (limits, message) => {
  expect(() => createRouter().add(GreetServiceDef, greeter, { limits: limits as ServiceLimits })).toThrow(message);
});
