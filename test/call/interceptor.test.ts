/** Interceptors of calls on both sides, for single messages and streams. */

import { Readable } from "node:stream";
import {
  createContextKey,
  createContextValues,
  createInMemoryTransport,
  createRouter,
  type InMemoryTransportOptions,
  type Interceptor,
  Metadata,
  RpcError,
  Status,
} from "triple-es";
import { describe, expect, it } from "vitest";
import {
  createGreetServiceClient,
  type GreetServiceClient,
  GreetServiceDef,
  type GreetServiceHandler,
} from "../../examples/gen/greet/v1/greet_triple.ts";
import { intercept } from "../../runtime/src/call/call.ts";
import { Code } from "../../runtime/src/call/code.ts";
import { arriving, failureOf, greeter, greetings, signalled } from "../support/server.ts";

interface Ends {
  readonly client?: readonly Interceptor[];
  readonly server?: readonly Interceptor[];
  readonly service?: readonly Interceptor[];
  readonly handler?: Partial<GreetServiceHandler>;
  readonly errors?: unknown[];
  readonly protocol?: NonNullable<InMemoryTransportOptions["protocol"]>;
}

function connect({
  client = [],
  server = [],
  service = [],
  handler = {},
  errors = [],
  protocol = "grpc",
}: Ends): GreetServiceClient {
  const router = createRouter({ interceptors: server, onError: (error) => errors.push(error) });
  router.add(GreetServiceDef, { ...greeter, ...handler }, { interceptors: service });
  return createGreetServiceClient(createInMemoryTransport(router, { protocol, interceptors: client }));
}

/** Records when a call passes, in both directions. */
const noting =
  (log: string[], name: string): Interceptor =>
  (next) =>
  async (request) => {
    log.push(`${name} in`);
    const response = await next(request);
    log.push(`${name} out`);
    return response;
  };

describe("the order", () => {
  it("is from the first to the last and back, from the client through router and service", async () => {
    const log: string[] = [];
    const client = connect({
      client: [noting(log, "c1"), noting(log, "c2")],
      server: [noting(log, "r1"), noting(log, "r2")],
      service: [noting(log, "s1")],
    });
    await client.greet({});
    const inwards = ["c1", "c2", "r1", "r2", "s1"];
    expect(log).toEqual([...inwards.map((name) => `${name} in`), ...inwards.reverse().map((name) => `${name} out`)]);
  });

  it("is created once, not for every call", async () => {
    let made = 0;
    const counting: Interceptor = (next) => {
      made++;
      return next;
    };
    const client = connect({ client: [counting] });
    await client.greet({});
    await client.greet({});
    expect(made).toBe(1);
  });

  it("is the call itself without interceptors", () => {
    const call = () => Promise.reject(new Error("x"));
    expect(intercept(call)).toBe(call);
  });
});

describe.each(["grpc", "http-rpc"] as const)("an interceptor (%s)", (protocol) => {
  it("may change message and metadata on a client, both ways", async () => {
    const changing: Interceptor = (next) => async (request) => {
      if (request.stream) return next(request);
      request.headers.set("user", "Ada");
      const response = await next({ ...request, message: { name: "Bob" } });
      if (response.stream) return response;
      response.headers.set("lead", "changed");
      return { ...response, message: { ...response.message, greeting: "changed" } };
    };
    const seen: unknown[] = [];
    const client = connect({
      protocol,
      client: [changing],
      handler: {
        greet: ({ name }, { requestHeaders }) => {
          seen.push(name, requestHeaders.get("user"));
          return {};
        },
      },
    });
    const onHeaders = (headers: Metadata): void => void seen.push(headers.get("lead"));
    expect((await client.greet({ name: "Eve" }, { onHeaders })).greeting).toBe("changed");
    expect(seen).toEqual(["Bob", "Ada", "changed"]);
  });

  it("may change message and metadata on a server, both ways", async () => {
    const changing: Interceptor = (next) => async (request) => {
      if (request.stream) return next(request);
      const headers = new Metadata(request.headers).set("user", "Ada");
      const response = await next({ ...request, headers, message: { ...request.message, name: "Bob" } });
      response.trailers.set("trail", "2");
      return response;
    };
    const seen: unknown[] = [];
    const client = connect({
      protocol,
      server: [changing],
      handler: {
        greet: ({ name }, { requestHeaders }) => ({ greeting: `${name} ${requestHeaders.get("user")}` }),
      },
    });
    const onTrailers = (trailers: Metadata): void => void seen.push(trailers.get("trail"));
    expect((await client.greet({ name: "Eve" }, { onTrailers })).greeting).toBe("Bob Ada");
    expect(seen).toEqual(["2"]);
  });

  it("may answer without calling next", async () => {
    const answering: Interceptor = () => async () => ({
      stream: false,
      message: { greeting: "cached" },
      headers: new Metadata(),
      trailers: new Metadata(),
    });
    expect((await connect({ protocol, client: [answering] }).greet({})).greeting).toBe("cached");
    expect((await connect({ protocol, server: [answering] }).greet({})).greeting).toBe("cached");
  });

  it("may refuse a call", async () => {
    const refusing: Interceptor = () => () => Promise.reject(new RpcError(Code.Unauthenticated, "who are you?"));
    for (const ends of [{ client: [refusing] }, { server: [refusing] }]) {
      expect(await failureOf(connect({ protocol, ...ends }).greet({}))).toMatchObject({
        code: Code.Unauthenticated,
        rawMessage: "who are you?",
      });
    }
  });

  it("may ask again", async () => {
    let calls = 0;
    const retrying: Interceptor = (next) => async (request) => {
      try {
        return await next(request);
      } catch (error) {
        if (!request.stream && RpcError.from(error).code === Code.Unavailable) return next(request);
        throw error;
      }
    };
    const client = connect({
      protocol,
      client: [retrying],
      handler: {
        greet: () => {
          if (++calls === 1) throw new RpcError(Code.Unavailable, "later");
          return { greeting: `after ${calls}` };
        },
      },
    });
    expect((await client.greet({})).greeting).toBe("after 2");
  });

  it("receives the failure of a handler on a server as the caller will", async () => {
    const errors: unknown[] = [];
    const seen: RpcError[] = [];
    const watching: Interceptor = (next) => async (request) => {
      try {
        return await next(request);
      } catch (error) {
        seen.push(error as RpcError);
        throw error;
      }
    };
    const broken = new Error("broken");
    const client = connect({ protocol, errors, server: [watching], handler: { greet: () => Promise.reject(broken) } });
    await failureOf(client.greet({}));
    expect(seen).toMatchObject([{ code: Code.Unknown }]);
    expect(errors).toEqual([broken]);
  });

  it("causes an internal error if it returns a stream instead of a message", async () => {
    const errors: unknown[] = [];
    const wrong: Interceptor = () => async () => ({
      stream: true,
      messages: arriving(),
      headers: new Metadata(),
      trailers: new Metadata(),
    });
    expect((await failureOf(connect({ protocol, client: [wrong] }).greet({}))).code).toBe(Code.Internal);
    expect((await failureOf(connect({ protocol, errors, server: [wrong] }).greet({}))).code).toBe(Code.Internal);
    expect(errors).toHaveLength(1);
  });
});

describe("an interceptor of streams", () => {
  async function* mapped(messages: AsyncIterable<object>, change: (message: object) => object): AsyncGenerator<object> {
    for await (const message of messages) yield change(message);
  }
  const shout = (message: object): object => ({ ...message, name: `${(message as { name: string }).name}!` });

  it.each(["client", "server"] as const)("sees and changes every message on a %s, both ways", async (end) => {
    const seen: string[] = [];
    const changing: Interceptor = (next) => async (request) => {
      if (!request.stream) return next(request);
      seen.push(request.method.kind);
      const response = await next({ ...request, messages: mapped(request.messages, shout) });
      if (!response.stream) return response;
      const messages = mapped(response.messages, (message) => {
        seen.push((message as { greeting: string }).greeting);
        return message;
      });
      return { ...response, messages };
    };
    const client = connect({ [end]: [changing] });
    expect(await greetings(client.greetOnArrival(arriving("Ada", "Bob")))).toEqual(["Hello, Ada!!", "Hello, Bob!!"]);
    expect((await client.greetTogether(arriving("Ada"))).greeting).toBe("Hello, Ada!!");
    expect(seen).toEqual(["bidi_streaming", "Hello, Ada!!", "Hello, Bob!!", "client_streaming", "Hello, Ada!!"]);
  });

  it("causes an internal error if it returns a message", async () => {
    const errors: unknown[] = [];
    const wrong: Interceptor = () => async () => ({
      stream: false,
      message: {},
      headers: new Metadata(),
      trailers: new Metadata(),
    });
    expect((await failureOf(connect({ client: [wrong] }).greetEach({}))).code).toBe(Code.Internal);
    expect((await failureOf(connect({ errors, server: [wrong] }).greetEach({}))).code).toBe(Code.Internal);
    expect(errors).toHaveLength(1);
  });
});

describe("context values", () => {
  const user = createContextKey("anonymous");

  it("go from a server's interceptor to the handler", async () => {
    const signingIn: Interceptor = (next) => (request) => {
      request.context.values.set(user, request.headers.get("authorization") ?? "guest");
      return next(request);
    };
    const client = connect({
      server: [signingIn],
      handler: { greet: (_request, { values }) => ({ greeting: values.get(user) }) },
    });
    expect((await client.greet({}, { headers: { authorization: "Ada" } })).greeting).toBe("Ada");
    expect((await client.greet({})).greeting).toBe("guest");
  });

  it("go from a caller to the client's interceptors, and no further", async () => {
    const seen: string[] = [];
    const reading: Interceptor = (next) => (request) => {
      seen.push(request.context.values.get(user));
      return next(request);
    };
    const client = connect({
      client: [reading],
      handler: { greet: (_request, { values }) => ({ greeting: values.get(user) }) },
    });
    const values = createContextValues().set(user, "Ada");
    expect((await client.greet({}, { values })).greeting).toBe("anonymous");
    await client.greet({});
    expect(seen).toEqual(["Ada", "anonymous"]);
  });
});

describe("an interceptor of a server that throws when the handler has begun", () => {
  const failing: Interceptor = (next) => async (request) => {
    await next(request);
    throw new RpcError(Code.ResourceExhausted, "that was too much");
  };
  const silent: Interceptor = (next) => async (request) => {
    await next(request);
    return undefined as never;
  };

  it.each([
    ["throws", failing, Code.ResourceExhausted],
    ["returns nothing", silent, Code.Internal],
  ])("lets the handler of a stream clean up if it %s", async (_, interceptor, code) => {
    const cleaned = signalled();
    let begun = 0;
    const client = connect({
      server: [interceptor],
      errors: [],
      handler: {
        async *greetEach() {
          begun++;
          try {
            for (;;) yield { greeting: "Hello!" };
          } finally {
            cleaned.resolve();
          }
        },
      },
    });
    expect((await failureOf(client.greetEach({}))).code).toBe(code);
    await cleaned.promise;
    expect(begun).toBe(1);
  });

  it("does not change a stream that it passes on", async () => {
    const passing: Interceptor = (next) => (request) => next(request);
    const client = connect({ server: [passing], service: [passing] });
    expect(await greetings(client.greetEach({ names: ["Ada", "Bob"] }))).toEqual(["Hello, Ada!", "Hello, Bob!"]);
  });
});

describe.each(["grpc", "http-rpc"] as const)("an error of a downstream call (%s)", (protocol) => {
  const foreign = Object.assign(
    new RpcError(Code.NotFound, "no such user", {
      headers: { "x-foreign": "leading" },
      trailers: { "x-told": "trailing" },
      status: Status.BadRequest,
    }),
    { method: "/users.v1.UserService/Find" },
  );

  it("keeps its code, message and trailers when a server's interceptor throws it, and loses its headers and status", async () => {
    const asking: Interceptor = () => () => Promise.reject(foreign);
    const error = await failureOf(connect({ protocol, server: [asking] }).greet({}));
    expect([error.code, error.rawMessage, error.trailers.get("x-told")]).toEqual([
      Code.NotFound,
      "no such user",
      "trailing",
    ]);
    expect(error.headers.has("x-foreign")).toBe(false);
    expect(error.status).not.toBe(Status.BadRequest);
  });

  it("keeps its code and message and loses its status when a server's interceptor throws it without metadata", async () => {
    const asking: Interceptor = () => () =>
      Promise.reject(new RpcError(Code.NotFound, "no such user", { status: Status.BadRequest }));
    const error = await failureOf(connect({ protocol, server: [asking] }).greet({}));
    expect([error.code, error.rawMessage]).toEqual([Code.NotFound, "no such user"]);
    expect(error.status).not.toBe(Status.BadRequest);
  });

  it("takes nothing from the handler's own metadata, when interceptors let it pass", async () => {
    const passing: Interceptor = (next) => (request) => next(request);
    const client = connect({
      protocol,
      server: [passing],
      handler: {
        greet: (_, { responseHeaders }) => {
          responseHeaders.set("x-own", "leading");
          throw foreign;
        },
      },
    });
    const error = await failureOf(client.greet({}));
    expect([error.code, error.headers.get("x-own"), error.headers.get("x-foreign")]).toEqual([
      Code.NotFound,
      "leading",
      undefined,
    ]);
  });
});

describe("an interceptor of a client that calls next again", () => {
  /** Sends the call again if the server refuses its first token. */
  const renewing: Interceptor = (next) => async (request) => {
    request.headers.set("authorization", "old");
    try {
      return await next(request);
    } catch (error) {
      if ((error as RpcError).code !== Code.Unauthenticated) throw error;
      request.headers.set("authorization", "new");
      return next(request);
    }
  };
  /** Refuses the first token after it has read a message. */
  const checking: Interceptor = (next) => async (request) => {
    if (request.headers.get("authorization") === "new") return next(request);
    if (request.stream) await request.messages[Symbol.asyncIterator]().next();
    throw new RpcError(Code.Unauthenticated, "by the test");
  };
  const client = connect({ client: [renewing], server: [checking] });

  it("sends a single message again", async () => {
    expect(await client.greet({ name: "Ada" })).toMatchObject({ greeting: "Hello, Ada!" });
    expect(await greetings(client.greetEach({ names: ["Ada"] }))).toEqual(["Hello, Ada!"]);
  });

  it("cannot send a stream again whose messages were read", async () => {
    for (const call of [client.greetTogether(arriving("Ada")), client.greetOnArrival(arriving("Ada"))]) {
      expect(await failureOf(call)).toMatchObject({
        code: Code.FailedPrecondition,
        rawMessage: expect.stringContaining("can be read once, so an interceptor cannot call next again with them"),
      });
    }
  });

  const unread: Interceptor = (next) => (request) => {
    if (request.headers.get("authorization") === "new") return next(request);
    throw new RpcError(Code.Unauthenticated, "by the test");
  };
  const two = [{ name: "Ada" }, { name: "Grace" }];
  const STREAMS: Record<string, () => AsyncIterable<{ name: string }>> = {
    "an async generator": () => arriving("Ada", "Grace"),
    "a ReadableStream": () => ReadableStream.from(two) as unknown as AsyncIterable<{ name: string }>,
    "a Readable": () => Readable.from(two),
  };

  it.each(Object.entries(STREAMS))("cannot send %s again, through other interceptors either", async (_, open) => {
    const mapping: Interceptor = (next) => async (request) => {
      if (!request.stream) return next(request);
      const { messages } = request;
      async function* each(): AsyncGenerator<object, void> {
        yield* messages;
      }
      return next({ ...request, messages: each() });
    };
    for (const server of [checking, unread]) {
      for (const own of [[renewing], [renewing, mapping], [mapping, renewing]]) {
        const { greetTogether, greetOnArrival } = connect({ client: own, server: [server] });
        for (const call of [greetTogether(open()), greetOnArrival(open())]) {
          // A stream of which nothing was read may be whole.
          const outcome = await (async () => {
            if (call instanceof Promise) return (await call).greeting;
            return (await greetings(call)).join();
          })().catch((error: RpcError) => error.code);
          expect([Code.FailedPrecondition, "Hello, Ada and Grace!", "Hello, Ada!,Hello, Grace!"]).toContain(outcome);
          if (server === checking) expect(outcome).toBe(Code.FailedPrecondition);
        }
      }
    }
  });

  it("sends an empty stream again", async () => {
    const { greetTogether } = connect({ client: [renewing], server: [unread] });
    const nobody = { [Symbol.asyncIterator]: () => arriving() };
    expect(await greetTogether(nobody)).toMatchObject({ greeting: expect.stringContaining("Hello") });
  });

  it("sends a stream again whose iterable begins anew", async () => {
    const names = { [Symbol.asyncIterator]: () => arriving("Ada", "Grace") };
    expect(await client.greetTogether(names)).toMatchObject({ greeting: "Hello, Ada and Grace!" });
  });
});

describe.each(["grpc", "http-rpc"] as const)("an interceptor of a server that calls next again (%s)", (protocol) => {
  const repeating: Interceptor = (next) => (request) => next(request).catch(() => next(request));
  const mapping: Interceptor = (next) => async (request) => {
    if (!request.stream) return next(request);
    const { messages } = request;
    async function* each(): AsyncGenerator<object, void> {
      yield* messages;
    }
    return next({ ...request, messages: each() });
  };
  /** Fails the first time, before or after the handler. */
  const failing = (isBefore: boolean): Interceptor => {
    let calls = 0;
    return (next) => async (request) => {
      const isFirst = ++calls === 1;
      const response = isFirst && isBefore ? undefined : await next(request);
      if (isFirst) throw new RpcError(Code.Unavailable, "by the test");
      return response as Awaited<ReturnType<typeof next>>;
    };
  };
  const repeated = (isBefore: boolean, between: readonly Interceptor[] = []) =>
    connect({ protocol, server: [repeating, ...between], service: [failing(isBefore)] });

  it("passes a single message on again", async () => {
    for (const isBefore of [true, false])
      expect((await repeated(isBefore).greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
  });

  it("passes a stream on again of which nothing was read", async () => {
    expect(await greetings(repeated(true).greetEach({ names: ["Ada"] }))).toEqual(["Hello, Ada!"]);
    if (protocol === "http-rpc") return;
    expect((await repeated(true).greetTogether(arriving("Ada"))).greeting).toBe("Hello, Ada!");
    expect(await greetings(repeated(true).greetOnArrival(arriving("Ada")))).toEqual(["Hello, Ada!"]);
  });

  it.each([[[]], [[mapping]]])("cannot pass a stream on again whose messages were read", async (between) => {
    const client = (): GreetServiceClient => repeated(false, between);
    const calls: Parameters<typeof failureOf>[0][] = [client().greetEach({ names: ["Ada"] })];
    if (protocol === "grpc")
      calls.push(client().greetTogether(arriving("Ada")), client().greetOnArrival(arriving("Ada")));
    for (const call of calls) {
      expect(await failureOf(call)).toMatchObject({
        code: Code.FailedPrecondition,
        rawMessage: expect.stringContaining("can be read once, so an interceptor cannot call next again with them"),
      });
    }
  });
});

describe("request messages that fail", () => {
  const cause = new Error("no more");
  const failing: Interceptor = (next) => (request) => {
    async function* messages(): AsyncGenerator<object, void> {
      yield* [];
      throw cause;
    }
    return next(request.stream ? { ...request, messages: messages() } : request);
  };
  const failed = { code: Code.Internal, rawMessage: "no more" };

  it.each(["grpc", "http-rpc"] as const)("fail a server streaming call (%s)", async (protocol) => {
    const error = await failureOf(connect({ protocol, client: [failing] }).greetEach({}));
    expect(error).toMatchObject({ ...failed, status: Status.ClientError, cause });
  });

  it("fail calls with streams, also if the server has to read them", async () => {
    const errors: unknown[] = [];
    const { greetTogether, greetOnArrival } = connect({ client: [failing], errors });
    for (const call of [greetTogether(arriving("Ada")), greetOnArrival(arriving("Ada"))])
      expect(await failureOf(call)).toMatchObject(failed);
    expect(errors).toEqual([]);
  });
});

it.each([[[]], [[noting([], "r1")]]])("a handler goes on with a stream of which it has read a part", async (server) => {
  const client = connect({
    server,
    handler: {
      async greetTogether(messages) {
        const { value } = await messages[Symbol.asyncIterator]().next();
        const names = [value?.name];
        for await (const { name } of messages) names.push(name);
        return { greeting: names.join() };
      },
    },
  });
  expect((await client.greetTogether(arriving("Ada", "Bob", "Eve"))).greeting).toBe("Ada,Bob,Eve");
});
