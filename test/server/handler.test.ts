/** Handlers: the calls of a user's implementation, and the handling of its results and errors. */
import { createInMemoryTransport, createRouter, type HandlerContext, unimplemented } from "triple-es";
import { describe, expect, it, vi } from "vitest";
import type { GreetRequest } from "../../examples/gen/greet/v1/greet_pb.ts";
import {
  createGreetServiceClient,
  type GreetServiceClient,
  GreetServiceDef,
  type GreetServiceHandler,
} from "../../examples/gen/greet/v1/greet_triple.ts";
import { Code, Status } from "../../runtime/src/call/code.ts";
import { RpcError } from "../../runtime/src/call/error.ts";
import type { Metadata } from "../../runtime/src/call/metadata.ts";
import { envelope, grpcRequest, routeGreeter } from "../support/greeter.ts";
import { arriving, failureOf, greeter, greetings, signalled } from "../support/server.ts";

type Protocol = "grpc" | "http-rpc";

function connect(
  handler: Partial<GreetServiceHandler>,
  protocol: Protocol = "grpc",
): { client: GreetServiceClient; errors: unknown[] } {
  const { errors, exchange } = routeGreeter(handler);
  const transport = createInMemoryTransport({ ...createRouter(), exchange }, { protocol });
  return { client: createGreetServiceClient(transport), errors };
}

/** Makes a call of each kind, and returns its error. */
const FAILURES: Record<string, (client: GreetServiceClient) => Promise<RpcError>> = {
  unary: (client) => failureOf(client.greet({ name: "Ada" })),
  "server streaming": (client) => failureOf(client.greetEach({ names: ["Ada"] })),
  "client streaming": (client) => failureOf(client.greetTogether(arriving("Ada"))),
  "bidirectional streaming": (client) => failureOf(client.greetOnArrival(arriving("Ada"))),
};

/** A handler whose methods all throw, at once or when they are iterated. */
function throwing(make: () => unknown, before?: (context: HandlerContext) => void): GreetServiceHandler {
  const fail = (context: HandlerContext): never => {
    before?.(context);
    throw make();
  };
  return {
    greet: (_request, context) => fail(context),
    // biome-ignore lint/correctness/useYield: it fails before it has anything to yield
    async *greetEach(_request, context) {
      fail(context);
    },
    greetTogether: async (_requests, context) => fail(context),
    greetOnArrival: (_requests, context) => fail(context),
  };
}

const notYet = (_request: unknown, context: HandlerContext): never => unimplemented(context);
const nothing: GreetServiceHandler = {
  greet: notYet,
  greetEach: notYet,
  greetTogether: notYet,
  greetOnArrival: notYet,
};

describe("an implementation", () => {
  it("may be an instance of a class, which is this in its methods", async () => {
    class Greeter implements GreetServiceHandler {
      #count = 0;
      greet({ name }: GreetRequest) {
        return { greeting: `${name} ${++this.#count}` };
      }
      async *greetEach() {
        yield { greeting: `${++this.#count}` };
      }
      greetTogether = async () => ({ greeting: `${++this.#count}` });
      async *greetOnArrival() {
        yield { greeting: `${++this.#count}` };
      }
    }
    const router = createRouter().add(GreetServiceDef, new Greeter());
    const client = createGreetServiceClient(createInMemoryTransport(router));
    expect((await client.greet({ name: "Ada" })).greeting).toBe("Ada 1");
    expect(await greetings(client.greetEach({}))).toEqual(["2"]);
    expect((await client.greetTogether(arriving())).greeting).toBe("3");
    expect(await greetings(client.greetOnArrival(arriving()))).toEqual(["4"]);
  });

  it("may answer with a promise, an init shape or nothing but defaults", async () => {
    expect((await connect({ greet: async () => ({ greeting: "Hi" }) }).client.greet({})).greeting).toBe("Hi");
    expect((await connect({ greet: () => ({}) }).client.greet({})).greeting).toBe("");
  });

  it.each(Object.entries(FAILURES))("that calls `unimplemented` is unimplemented: %s", async (_kind, failure) => {
    const router = createRouter().add(GreetServiceDef, nothing);
    const client = createGreetServiceClient(createInMemoryTransport(router));
    expect(await failure(client)).toMatchObject({
      code: Code.Unimplemented,
      rawMessage: expect.stringContaining("is not implemented"),
    });
  });
});

describe("a method without an implementation", () => {
  it("is unimplemented, with status 60 over HTTP RPC", async () => {
    const { greet: _, ...others } = nothing;
    const router = createRouter().add(GreetServiceDef, others as GreetServiceHandler);
    const client = createGreetServiceClient(createInMemoryTransport(router, { protocol: "http-rpc" }));
    expect(await failureOf(client.greet({}))).toMatchObject({
      code: Code.Unimplemented,
      status: Status.ServiceNotFound,
    });
  });
});

describe("a thrown RpcError", () => {
  it.each(Object.entries(FAILURES))("is sent unchanged: %s", async (_kind, failure) => {
    const { client, errors } = connect(
      throwing(() => new RpcError(Code.FailedPrecondition, "not yet", { trailers: { why: "early" } })),
    );
    const error = await failure(client);
    expect([error.code, error.rawMessage, error.trailers.get("why")]).toEqual([
      Code.FailedPrecondition,
      "not yet",
      "early",
    ]);
    expect(errors).toEqual([]);
  });

  it("after the first message ends the stream", async () => {
    const { client, errors } = connect({
      async *greetEach(_request, { responseTrailers }) {
        yield { greeting: "a" };
        responseTrailers.set("late", "1");
        throw new RpcError(Code.DataLoss, "lost");
      },
    });
    const got: string[] = [];
    const reading = (async () => {
      for await (const { greeting } of client.greetEach({})) got.push(greeting);
    })();
    const error = await failureOf(reading);
    expect([got, error.code, error.trailers.get("late")]).toEqual([["a"], Code.DataLoss, "1"]);
    expect(errors).toEqual([]);
  });

  it.each(["grpc", "http-rpc"] as const)("has the headers that the handler gave it, over %s", async (protocol) => {
    const { client } = connect(
      {
        greet: (_, { responseHeaders }) => {
          responseHeaders.set("x-context", "2");
          throw new RpcError(Code.NotFound, "x", { headers: { "x-own": "1" }, trailers: { "x-late": "3" } });
        },
      },
      protocol,
    );
    const { headers, trailers } = await failureOf(client.greet({}));
    expect([headers.get("x-own"), headers.get("x-context"), trailers.get("x-late")]).toEqual(["1", "2", "3"]);
  });

  it("does not pass on the status and headers of a call that the handler made", async () => {
    const options = { status: Status.ServiceNotFound, headers: { inner: "1" } };
    // Clients set the member of the errors of their calls.
    const failed = Object.assign(new RpcError(Code.Unimplemented, "x", options), { method: "/a.B/C" });
    const { client } = connect({ greet: () => Promise.reject(failed) }, "http-rpc");
    const error = await failureOf(client.greet({}));
    expect([error.code, error.status, error.headers.size]).toEqual([Code.Unimplemented, Status.ServiceError, 0]);
  });
});

describe("anything else that is thrown", () => {
  const secret = new Error("password is 1234");

  it.each(Object.entries(FAILURES))("is hidden from the caller and reported once: %s", async (_kind, failure) => {
    const { client, errors } = connect(throwing(() => secret));
    const error = await failure(client);
    expect(error.code).toBe(Code.Unknown);
    expect(JSON.stringify([error.message, [...error.trailers], [...error.headers]])).not.toContain("1234");
    expect(errors).toEqual([secret]);
  });

  it("is status 70 in sub-protocol A", async () => {
    const { client, errors } = connect(
      throwing(() => secret),
      "http-rpc",
    );
    const error = await failureOf(client.greet({}));
    expect([error.code, error.status]).toEqual([Code.Unknown, Status.ServiceError]);
    expect(error.message).not.toContain("1234");
    expect(errors).toEqual([secret]);
  });

  it("after the first message is hidden and reported once too", async () => {
    const { client, errors } = connect({
      async *greetEach() {
        yield { greeting: "a" };
        throw secret;
      },
    });
    const error = await failureOf(client.greetEach({}));
    expect(error.code).toBe(Code.Unknown);
    expect(error.message).not.toContain("1234");
    expect(errors).toEqual([secret]);
  });

  it.each([undefined, null, "text", 7])("may even be %s", async (thrown) => {
    const { client, errors } = connect(throwing(() => thrown));
    expect((await failureOf(client.greet({}))).code).toBe(Code.Unknown);
    expect(errors).toEqual([thrown]);
  });

  it("includes responses that are not streams", async () => {
    const { client, errors } = connect({ greetEach: (() => ({})) as unknown as GreetServiceHandler["greetEach"] });
    expect((await failureOf(client.greetEach({}))).code).toBe(Code.Unknown);
    expect(errors).toHaveLength(1);
  });
});

describe.each<Protocol>(["grpc", "http-rpc"])("an answer that cannot be encoded (%s)", (protocol) => {
  it("is an internal error, reported once", async () => {
    const { client, errors } = connect(
      {
        greet: () => ({
          get greeting(): string {
            throw new Error("not today");
          },
        }),
      },
      protocol,
    );
    const error = await failureOf(client.greet({}));
    expect([error.code, error.rawMessage]).toEqual([Code.Internal, "internal server error"]);
    expect(errors).toHaveLength(1);
  });
});

describe.each<Protocol>(["grpc", "http-rpc"])("metadata (%s)", (protocol) => {
  const dress = ({ responseHeaders, responseTrailers }: HandlerContext): void => {
    responseHeaders.set("lead", "1").set("lead-bin", Uint8Array.of(1, 2));
    responseTrailers.set("trail", "2").set("trail-bin", Uint8Array.of(3));
  };
  const bytes = (metadata: Metadata, name: string): number[] => [...(metadata.getBinary(name) ?? [])];

  it("reaches the handler in the request", async () => {
    const seen: unknown[] = [];
    const { client } = connect(
      {
        greet: (_request, { requestHeaders, method }) => {
          seen.push(requestHeaders.get("user"), bytes(requestHeaders, "trace-bin"), method.name);
          return {};
        },
      },
      protocol,
    );
    await client.greet({}, { headers: { user: "Ada", "trace-bin": Uint8Array.of(9) } });
    expect(seen).toEqual(["Ada", [9], "Greet"]);
  });

  it("reaches the client in the response, leading and trailing", async () => {
    const { client } = connect(
      {
        greet: (_request, context) => {
          dress(context);
          return {};
        },
      },
      protocol,
    );
    const seen: unknown[] = [];
    await client.greet(
      {},
      {
        onHeaders: (headers) => seen.push([...headers], bytes(headers, "lead-bin")),
        onTrailers: (trailers) => seen.push([...trailers], bytes(trailers, "trail-bin")),
      },
    );
    expect(seen).toEqual([
      [
        ["lead", "1"],
        ["lead-bin", "AQI"],
      ],
      [1, 2],
      [
        ["trail", "2"],
        ["trail-bin", "Aw"],
      ],
      [3],
    ]);
  });

  it.each([
    ["an RpcError", () => new RpcError(Code.NotFound, "x", { trailers: { own: "3" } }), "3"],
    ["a foreign error", () => new Error("x"), undefined],
  ])("is kept if it was set before %s", async (_what, make, own) => {
    const { client } = connect(throwing(make, dress), protocol);
    const { headers, trailers: metadata } = await failureOf(client.greet({}));
    expect([headers.get("lead"), bytes(headers, "lead-bin")]).toEqual(["1", [1, 2]]);
    expect([metadata.get("trail"), bytes(metadata, "trail-bin"), metadata.get("own")]).toEqual(["2", [3], own]);
  });

  it("is refused if its name is reserved, and reported as an error of the handler", async () => {
    const { client, errors } = connect(
      {
        greet: (_request, { responseHeaders }) => {
          responseHeaders.set("content-type", "text/html");
          return {};
        },
      },
      protocol,
    );
    expect((await failureOf(client.greet({}))).code).toBe(Code.Internal);
    expect(errors).toEqual([expect.objectContaining({ message: expect.stringContaining("reserved") })]);
  });

  it("is not sent with an error either if its name belongs to the protocol", async () => {
    const { client } = connect(
      throwing(
        () => new RpcError(Code.NotFound, "x", { trailers: { "grpc-status": "0" } }),
        ({ responseHeaders }) => responseHeaders.set("content-type", "text/html").set("grpc-status", "0"),
      ),
      protocol,
    );
    expect(await failureOf(client.greet({}))).toMatchObject({ code: Code.NotFound, rawMessage: "x" });
  });
});

describe("sendHeaders", () => {
  it("sends leading metadata before the first message", async () => {
    let go: () => void = () => {};
    const gone = new Promise<void>((resolve) => {
      go = resolve;
    });
    const { client } = connect({
      async *greetEach(_request, context) {
        context.responseHeaders.set("lead", "1");
        context.sendHeaders();
        await gone;
        yield { greeting: "a" };
      },
    });
    const seen: unknown[] = [];
    for await (const { greeting } of client.greetEach(
      {},
      {
        onHeaders: (headers) => {
          seen.push(headers.get("lead"));
          go();
        },
      },
    )) {
      seen.push(greeting);
    }
    expect(seen).toEqual(["1", "a"]);
  });

  it("sends leading metadata before a failure, which then ends the stream", async () => {
    const { client } = connect({
      async *greetEach(_request, context) {
        context.responseHeaders.set("lead", "1");
        context.sendHeaders();
        await new Promise((resolve) => setImmediate(resolve));
        throw new RpcError(Code.NotFound, "x");
      },
    });
    const onHeaders = vi.fn();
    const error = await failureOf(client.greetEach({}, { onHeaders }));
    expect([error.code, error.headers.get("lead")]).toEqual([Code.NotFound, "1"]);
    expect(onHeaders).toHaveBeenCalledTimes(1);
  });

  it("does nothing in a unary call", async () => {
    const { client } = connect({
      greet: (_request, context) => {
        context.sendHeaders();
        return { greeting: "a" };
      },
    });
    expect((await client.greet({})).greeting).toBe("a");
  });
});

describe("the signal of a handler", () => {
  it("exists even if nothing can end the call, and has not fired", async () => {
    const seen: boolean[] = [];
    const { client } = connect({
      greet: (_request, { signal, timeoutMs }) => {
        seen.push(signal.aborted);
        expect(timeoutMs).toBeTypeOf("function");
        return {};
      },
    });
    await client.greet({});
    expect(seen).toEqual([false]);
  });

  it("fires when the deadline passes, and a stream without a message is ended", async () => {
    const { promise: ended, resolve: end } = signalled<string>();
    const { exchange } = routeGreeter({
      async *greetEach(_request, { signal }) {
        try {
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          yield { greeting: "too late" };
          end("went on");
        } finally {
          end("ended");
        }
      },
    });
    const path = "/greet.v1.GreetService/GreetEach";
    const { headers } = await exchange(grpcRequest({ path, headers: { "grpc-timeout": "10m" }, body: envelope("") }));
    expect(headers.get("grpc-status")).toBe(String(Code.DeadlineExceeded));
    expect(await ended).toBe("ended");
  });
});

describe("the number of requests", () => {
  it("depends on the caller if they are streamed", async () => {
    const client = createGreetServiceClient(createInMemoryTransport(createRouter().add(GreetServiceDef, greeter)));
    expect((await client.greetTogether(arriving())).greeting).toBe("Hello, !");
    expect((await client.greetTogether(arriving("Ada", "Bob"))).greeting).toBe("Hello, Ada and Bob!");
  });
});
