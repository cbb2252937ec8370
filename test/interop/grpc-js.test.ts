/** Interoperability with gRPC's implementation for Node, as a client and as a server of sub-protocol B. */
import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import {
  type Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  type ClientWritableStream,
  compressionAlgorithms,
  credentials,
  Metadata as GrpcMetadata,
  type GrpcObject,
  Server as GrpcServer,
  type handleBidiStreamingCall,
  type handleClientStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  loadPackageDefinition,
  ServerCredentials,
  type ServiceClientConstructor,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { Code, findDetails, RpcError } from "triple-es";
import { describe, expect, it, onTestFinished } from "vitest";
import { GreetRequestSchema } from "../../examples/gen/greet/v1/greet_pb.ts";
import type { GreetServiceHandler } from "../../examples/gen/greet/v1/greet_triple.ts";
import {
  aborted,
  arriving,
  connectGreeter,
  failureOf,
  greetings,
  missDeadline,
  signalled,
  startServer,
} from "../support/server.ts";

interface Named {
  name: string;
}
interface Greeting {
  greeting: string;
}
type Answered = (error: ServiceError | null, response?: Greeting) => void;
interface GrpcGreeter extends Client {
  Greet(request: Named, metadata: GrpcMetadata, options: object, answered: Answered): { cancel(): void };
  GreetEach(request: { names: string[] }): ClientReadableStream<Greeting>;
  GreetTogether(answered: Answered): ClientWritableStream<Named>;
  GreetOnArrival(): ClientDuplexStream<Named, Greeting>;
}

const proto = loadPackageDefinition(loadSync("proto/greet/v1/greet.proto"));
const GreetService = ((proto["greet"] as GrpcObject)["v1"] as GrpcObject)["GreetService"] as ServiceClientConstructor;

describe("a client of grpc-js", () => {
  async function connect(handler: Partial<GreetServiceHandler> = {}, options: object = {}): Promise<GrpcGreeter> {
    const { port } = await startServer(handler);
    const client = new GreetService(`127.0.0.1:${port}`, credentials.createInsecure(), options);
    onTestFinished(() => client.close());
    return client as unknown as GrpcGreeter;
  }

  function greet(
    client: GrpcGreeter,
    request: Named,
    { metadata = new GrpcMetadata(), ...options }: { metadata?: GrpcMetadata; deadline?: number } = {},
  ): Promise<{ greeting: string; header: GrpcMetadata; trailer: GrpcMetadata }> {
    return new Promise((resolve, reject) => {
      let header = new GrpcMetadata();
      let greeting = "";
      const call = client.Greet(request, metadata, options, (error, response) => {
        if (error) reject(error);
        else greeting = response?.greeting ?? "";
      }) as unknown as ClientReadableStream<Greeting>;
      call.on("metadata", (received) => {
        header = received;
      });
      call.on("status", (end) => resolve({ greeting, header, trailer: end.metadata }));
    });
  }

  it("makes a unary call", async () => {
    expect((await greet(await connect(), { name: "Ada" })).greeting).toBe("Hello, Ada!");
  });

  it("makes a server streaming call", async () => {
    const client = await connect();
    expect(await greetings(client.GreetEach({ names: ["Ada", "Bob"] }))).toEqual(["Hello, Ada!", "Hello, Bob!"]);
  });

  it("makes a client streaming call", async () => {
    const client = await connect();
    const greeting = await new Promise((resolve, reject) => {
      const call = client.GreetTogether((error, response) => (error ? reject(error) : resolve(response?.greeting)));
      call.write({ name: "Ada" });
      call.write({ name: "Bob" });
      call.end();
    });
    expect(greeting).toBe("Hello, Ada and Bob!");
  });

  it("makes a bidirectional call, waiting for each response", async () => {
    const call = (await connect()).GreetOnArrival();
    const answers = call[Symbol.asyncIterator]();
    for (const name of ["Ada", "Bob"]) {
      call.write({ name });
      expect((await answers.next()).value).toEqual({ greeting: `Hello, ${name}!` });
    }
    call.end();
    expect((await answers.next()).done).toBe(true);
  });

  it("receives an error with its code, message, details and metadata", async () => {
    const client = await connect({
      greet: () => {
        const detail = anyPack(GreetRequestSchema, create(GreetRequestSchema, { name: "unknown" }));
        throw new RpcError(Code.NotFound, "100 % née\n", { details: [detail], trailers: { "x-why": "unknown" } });
      },
    });
    const error: ServiceError = await greet(client, { name: "" }).catch((reason) => reason);
    expect([error.code, error.details]).toEqual([status.NOT_FOUND, "100 % née\n"]);
    expect(error.metadata.get("x-why")).toEqual(["unknown"]);
    expect(String(error.metadata.get("grpc-status-details-bin")[0])).toContain("greet.v1.GreetRequest");
  });

  it("receives an error in the middle of a stream, after the messages before it", async () => {
    const client = await connect({
      async *greetEach() {
        yield { greeting: "first" };
        throw new RpcError(Code.Aborted, "enough");
      },
    });
    const received: string[] = [];
    const reading = (async () => {
      for await (const { greeting } of client.GreetEach({ names: [] })) received.push(greeting);
    })();
    await expect(reading).rejects.toMatchObject({ code: status.ABORTED, details: "enough" });
    expect(received).toEqual(["first"]);
  });

  it("sends and receives metadata, text and bytes", async () => {
    const client = await connect({
      greet: (_, { requestHeaders, responseHeaders, responseTrailers }) => {
        for (const value of requestHeaders.getAll("x-text")) responseHeaders.append("x-text", value);
        for (const bytes of requestHeaders.getAllBinary("x-bytes-bin")) responseTrailers.append("x-bytes-bin", bytes);
        return {};
      },
    });
    const metadata = new GrpcMetadata();
    metadata.add("x-text", "one");
    metadata.add("x-text", "two");
    metadata.add("x-bytes-bin", Buffer.from([0, 255]));
    metadata.add("x-bytes-bin", Buffer.from([1]));
    const { header, trailer } = await greet(client, { name: "" }, { metadata });
    expect(header.get("x-text").join(", ")).toBe("one, two");
    expect(trailer.get("x-bytes-bin")).toEqual([Buffer.from([0, 255]), Buffer.from([1])]);
  });

  it("passes its deadline on, and fails when it passes", async () => {
    const left = signalled<number | undefined>();
    const client = await connect({
      greet: (_, context) => {
        left.resolve(context.timeoutMs());
        return new Promise(() => {});
      },
    });
    const error = await greet(client, { name: "" }, { deadline: Date.now() + 100 }).catch((reason) => reason);
    expect(error.code).toBe(status.DEADLINE_EXCEEDED);
    expect(await left.promise).toBeGreaterThan(0);
    expect(await left.promise).toBeLessThanOrEqual(101);
  });

  it("cancels a call, and the handler is notified", async () => {
    const running = signalled();
    const reason = signalled<unknown>();
    const client = await connect({
      greet: async (_, { signal }) => {
        running.resolve();
        reason.resolve(await aborted(signal));
        return {};
      },
    });
    const error = signalled<ServiceError | null>();
    const call = client.Greet({ name: "" }, new GrpcMetadata(), {}, error.resolve);
    await running.promise;
    call.cancel();
    expect(await error.promise).toMatchObject({ code: status.CANCELLED });
    expect(await reason.promise).toMatchObject({ code: Code.Canceled });
  });

  it("compresses with gzip, both ways", async () => {
    const name = "Ada ".repeat(1000);
    const client = await connect(
      { greet: (request, { requestHeaders }) => ({ greeting: requestHeaders.get("grpc-encoding") + request.name }) },
      { "grpc.default_compression_algorithm": compressionAlgorithms.gzip },
    );
    expect((await greet(client, { name })).greeting).toBe(`gzip${name}`);
  });

  it("receives unimplemented for an unknown method", async () => {
    const { port } = await startServer();
    const client = new GreetService(`127.0.0.1:${port}`, credentials.createInsecure());
    onTestFinished(() => client.close());
    const error = await new Promise((resolve) => {
      client.makeUnaryRequest("/greet.v1.GreetService/Gone", () => Buffer.alloc(0), Number, Buffer.alloc(0), resolve);
    });
    expect(error).toMatchObject({ code: status.UNIMPLEMENTED });
  });

  it("makes 100 calls at a time", async () => {
    const client = await connect();
    const all = await Promise.all(Array.from({ length: 100 }, (_, i) => greet(client, { name: String(i) })));
    expect(all.map(({ greeting }) => greeting)).toEqual(Array.from({ length: 100 }, (_, i) => `Hello, ${i}!`));
  });
});

describe("a server of grpc-js", () => {
  const unary: handleUnaryCall<Named, Greeting> = ({ request, metadata }, answer) => {
    const trailer = new GrpcMetadata();
    for (const bytes of metadata.get("x-bytes-bin")) trailer.add("x-bytes-bin", bytes);
    if (request.name !== "unknown") return answer(null, { greeting: `Hello, ${request.name}!` }, trailer);
    answer({ code: status.NOT_FOUND, details: "100 % née", metadata: trailer });
  };
  const each: handleServerStreamingCall<{ names: string[] }, Greeting> = (call) => {
    for (const name of call.request.names) call.write({ greeting: `Hello, ${name}!` });
    call.end();
  };
  const together: handleClientStreamingCall<Named, Greeting> = (call, answer) => {
    const names: string[] = [];
    call.on("data", ({ name }: Named) => names.push(name));
    call.on("end", () => answer(null, { greeting: `Hello, ${names.join(" and ")}!` }));
  };
  const onArrival: handleBidiStreamingCall<Named, Greeting> = (call) => {
    call.on("data", ({ name }: Named) => call.write({ greeting: `Hello, ${name}!` }));
    call.on("end", () => call.end());
  };

  async function start(greet: handleUnaryCall<Named, Greeting> = unary): Promise<string> {
    const server = new GrpcServer();
    server.addService(GreetService.service, {
      Greet: greet,
      GreetEach: each,
      GreetTogether: together,
      GreetOnArrival: onArrival,
    });
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
    onTestFinished(() => server.forceShutdown());
    return `http://127.0.0.1:${port}`;
  }

  it("answers all four kinds of call", async () => {
    const greeter = connectGreeter(await start());
    expect((await greeter.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    expect(await greetings(greeter.greetEach({ names: ["Ada", "Bob"] }))).toEqual(["Hello, Ada!", "Hello, Bob!"]);
    expect((await greeter.greetTogether(arriving("Ada", "Bob"))).greeting).toBe("Hello, Ada and Bob!");
    expect(await greetings(greeter.greetOnArrival(arriving("Ada", "Bob")))).toEqual(["Hello, Ada!", "Hello, Bob!"]);
  });

  it("receives an error with its code, message and metadata", async () => {
    const headers = { "x-bytes-bin": Uint8Array.of(0, 255) };
    const error = await failureOf(connectGreeter(await start()).greet({ name: "unknown" }, { headers }));
    expect([error.code, error.rawMessage]).toEqual([Code.NotFound, "100 % née"]);
    expect(error.trailers.getBinary("x-bytes-bin")).toEqual(Uint8Array.of(0, 255));
    expect(findDetails(error, GreetRequestSchema)).toEqual([]);
  });

  it("learns of our deadline and our cancellation", async () => {
    const cancelled = signalled();
    const deadline = signalled<unknown>();
    const greeter = connectGreeter(
      await start((call) => {
        deadline.resolve(call.getDeadline());
        call.on("cancelled", () => cancelled.resolve());
      }),
    );
    await missDeadline(deadline.promise, (options) => failureOf(greeter.greet({}, options)));
    expect(Number(await deadline.promise)).toBeLessThan(Date.now() + 100);
    await cancelled.promise;
  });

  it("understands our gzip", async () => {
    const name = "Ada ".repeat(1000);
    const greeter = connectGreeter(await start(), { compression: "gzip" });
    expect((await greeter.greet({ name })).greeting).toBe(`Hello, ${name}!`);
  });
});
