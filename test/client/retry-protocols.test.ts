/**
 * Retries over both sub-protocols: the headers that servers receive and send, in memory, over sockets, and with grpc-js.
 */
import {
  Client,
  credentials,
  Metadata as GrpcMetadata,
  Server as GrpcServer,
  type MetadataValue,
  ServerCredentials,
  type ServiceDefinition,
} from "@grpc/grpc-js";
import { Code, createInMemoryTransport, createRetry, createRouter, type RetryOptions, RpcError } from "triple-es";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  createGreetServiceClient,
  type GreetServiceClient,
  GreetServiceDef,
  type GreetServiceHandler,
} from "../../examples/gen/greet/v1/greet_triple.ts";
import { connectGreeter, failureOf, greeter, greetings, startServer } from "../support/server.ts";

const FAST = { initialBackoffMs: 1, applies: () => true } satisfies RetryOptions;
const protocols = ["grpc", "http-rpc"] as const;

function connect(
  protocol: (typeof protocols)[number],
  handler: Partial<GreetServiceHandler>,
  options: RetryOptions = {},
): GreetServiceClient {
  const router = createRouter().add(GreetServiceDef, { ...greeter, ...handler });
  const interceptors = [createRetry({ ...FAST, ...options })];
  return createGreetServiceClient(createInMemoryTransport(router, { protocol, interceptors }));
}

describe.each(protocols)("over %s", (protocol) => {
  it("a server learns how many attempts there were, and a client too", async () => {
    const seen: (string | undefined)[] = [];
    const client = connect(protocol, {
      greet({ name }, { requestHeaders }) {
        seen.push(requestHeaders.get("grpc-previous-rpc-attempts"));
        if (seen.length < 3) throw new RpcError(Code.Unavailable, "not yet");
        return { greeting: `Hello, ${name}!` };
      },
    });
    let attempts: string | undefined;
    const { greeting } = await client.greet(
      { name: "Dubbo" },
      {
        onHeaders: (headers) => {
          attempts = headers.get("grpc-previous-rpc-attempts");
        },
      },
    );
    expect(greeting).toBe("Hello, Dubbo!");
    expect(seen).toEqual([undefined, "1", "2"]);
    expect(attempts).toBe("2");
  });

  it("a server's pushback stops retries", async () => {
    let calls = 0;
    const client = connect(protocol, {
      greet() {
        calls++;
        throw new RpcError(Code.Unavailable, "full", { trailers: { "grpc-retry-pushback-ms": "-1" } });
      },
    });
    const error = await failureOf(client.greet({ name: "Dubbo" }));
    expect(error).toMatchObject({ code: Code.Unavailable, rawMessage: "full" });
    expect(calls).toBe(1);
  });

  it("an error that is not the server's is not retried", async () => {
    let calls = 0;
    const client = connect(protocol, {
      greet() {
        calls++;
        throw new RpcError(Code.InvalidArgument, "no name");
      },
    });
    expect((await failureOf(client.greet({}))).code).toBe(Code.InvalidArgument);
    expect(calls).toBe(1);
  });

  it("sockets carry the attempts of a transport with the option retry", async () => {
    let calls = 0;
    const { baseUrl } = await startServer({
      greet({ name }) {
        if (++calls < 3) throw new RpcError(Code.Unavailable, "not yet");
        return { greeting: `Hello, ${name}!` };
      },
    });
    const client = connectGreeter(baseUrl, { protocol, retry: FAST });
    expect(await client.greet({ name: "Dubbo" })).toMatchObject({ greeting: "Hello, Dubbo!" });
    expect(calls).toBe(3);
  });

  it("sockets carry the attempts of a service config", async () => {
    let calls = 0;
    const { baseUrl } = await startServer({
      greet({ name }) {
        if (++calls < 2) throw new RpcError(Code.Aborted, "conflict");
        return { greeting: `Hello, ${name}!` };
      },
    });
    const retryPolicy = {
      maxAttempts: 2,
      initialBackoff: "0.001s",
      maxBackoff: "1s",
      backoffMultiplier: 2,
      retryableStatusCodes: ["ABORTED"],
    };
    const serviceConfig = { methodConfig: [{ name: [{ service: "greet.v1.GreetService" }], retryPolicy }] };
    const client = connectGreeter(baseUrl, { protocol, serviceConfig: JSON.stringify(serviceConfig) });
    expect(await client.greet({ name: "Dubbo" })).toMatchObject({ greeting: "Hello, Dubbo!" });
    expect(calls).toBe(2);
  });
});

describe("a server stream over grpc", () => {
  it("is retried until its headers arrive, with the same request", async () => {
    let calls = 0;
    const client = connect("grpc", {
      async *greetEach({ names }) {
        if (++calls < 3) throw new RpcError(Code.Unavailable, "not yet");
        for (const name of names) yield { greeting: `Hello, ${name}!` };
      },
    });
    expect(await greetings(client.greetEach({ names: ["Ann", "Bob"] }))).toEqual(["Hello, Ann!", "Hello, Bob!"]);
    expect(calls).toBe(3);
  });

  it("is not retried after its headers, even before a message", async () => {
    let calls = 0;
    const client = connect("grpc", {
      // biome-ignore lint/correctness/useYield: it fails before its first message.
      async *greetEach(_, { sendHeaders }) {
        calls++;
        sendHeaders();
        await new Promise(setImmediate);
        throw new RpcError(Code.Unavailable, "lost");
      },
    });
    expect((await failureOf(client.greetEach({ names: ["Ann"] }))).rawMessage).toBe("lost");
    expect(calls).toBe(1);
  });

  it("that fails after its headers counts as a failure for the budget", async () => {
    let calls = 0;
    const options = { budget: { ratio: 0, minPerSecond: 0.1 } };
    const client = connect(
      "grpc",
      {
        async *greetEach() {
          yield { greeting: "one" };
          throw new RpcError(Code.Unavailable, "lost");
        },
        greet() {
          calls++;
          throw new RpcError(Code.Unavailable, "away");
        },
      },
      options,
    );
    await failureOf(client.greetEach({}));
    await failureOf(client.greet({}));
    expect(calls).toBe(1);
  });
});

describe("the options of a transport", () => {
  it("exclude each other if both contain a policy", () => {
    expect(() => connectGreeter("http://localhost:1", { retry: {}, serviceConfig: {} })).toThrow(
      "retry and serviceConfig exclude each other",
    );
  });
});

describe("grpc-js", () => {
  const RETRY_POLICY = {
    maxAttempts: 3,
    initialBackoff: "0.01s",
    maxBackoff: "0.1s",
    backoffMultiplier: 2,
    retryableStatusCodes: ["UNAVAILABLE"],
  };
  const PATH = "/greet.v1.GreetService/Greet";
  const asIs = (bytes: Buffer): Buffer => bytes;

  it("as a client receives attempt counts and pushback from our server", async () => {
    const seen: (string | undefined)[] = [];
    const { port } = await startServer({
      greet(_, { requestHeaders }) {
        seen.push(requestHeaders.get("grpc-previous-rpc-attempts"));
        const pushback = seen.length < 2 ? "5" : "-1";
        throw new RpcError(Code.Unavailable, "full", { trailers: { "grpc-retry-pushback-ms": pushback } });
      },
    });
    const serviceConfig = { methodConfig: [{ name: [{}], retryPolicy: RETRY_POLICY }] };
    const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
      "grpc.service_config": JSON.stringify(serviceConfig),
    });
    onTestFinished(() => client.close());
    const code = await new Promise((resolve) => {
      client.makeUnaryRequest(PATH, asIs, asIs, Buffer.alloc(0), (error) => resolve(error?.code));
    });
    expect(code).toBe(Code.Unavailable);
    expect(seen).toEqual([undefined, "1"]);
  });

  it("as a server receives attempt counts from our client and pushes it back", async () => {
    const seen: MetadataValue[][] = [];
    const definition: ServiceDefinition = {
      greet: {
        path: PATH,
        requestStream: false,
        responseStream: false,
        requestSerialize: asIs,
        requestDeserialize: asIs,
        responseSerialize: asIs,
        responseDeserialize: asIs,
      },
    };
    const server = new GrpcServer();
    server.addService(definition, {
      greet(call: { readonly metadata: GrpcMetadata }, callback: (error: object) => void) {
        seen.push(call.metadata.get("grpc-previous-rpc-attempts"));
        const metadata = new GrpcMetadata();
        metadata.set("grpc-retry-pushback-ms", seen.length < 2 ? "5" : "-1");
        callback({ code: Code.Unavailable, details: "full", metadata });
      },
    });
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    onTestFinished(() => server.forceShutdown());
    const delays: number[] = [];
    const retry = { ...FAST, onRetry: ({ delayMs }: { readonly delayMs: number }) => delays.push(delayMs) };
    const client = connectGreeter(`http://127.0.0.1:${port}`, { retry });
    expect((await failureOf(client.greet({ name: "Dubbo" }))).rawMessage).toBe("full");
    expect(seen).toEqual([[], ["1"]]);
    expect(delays).toEqual([5]);
  });
});
