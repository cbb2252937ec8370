/** Both sub-protocols over HTTP/2: in `node:http2` with its compatibility API, and in Fastify, which is based on it. */
import { createServer } from "node:http2";
import { type Client, credentials, Metadata as GrpcMetadata, makeGenericClientConstructor } from "@grpc/grpc-js";
import fastify from "fastify";
import { Code, type Metadata, type Router, RpcError } from "triple-es";
import { fastifyRpc } from "triple-es/fastify";
import { nodeHandler } from "triple-es/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { envelope, Http2Connection } from "../support/connection.ts";
import { arriving, connectGreeter, failureOf, greetings } from "../support/server.ts";
import { greetRouter, listen, MAX_MESSAGE_BYTES, waiting } from "./host.ts";

const SERVERS: Readonly<Record<string, (router: Router) => Promise<string>>> = {
  "node:http2": (router) => {
    const server = createServer(nodeHandler(router));
    const sessions = new Set<{ destroy(): void }>();
    server.on("session", (session) => sessions.add(session));
    onTestFinished(() => {
      for (const session of sessions) session.destroy();
    });
    return listen(server);
  },
  Fastify: async (router) => {
    const app = fastify({ http2: true });
    onTestFinished(() => app.close());
    app.register(fastifyRpc, { router });
    return app.listen({ port: 0, host: "127.0.0.1" });
  },
};

const GREET = "/greet.v1.GreetService/Greet";

describe.each(Object.entries(SERVERS))("%s", (_, serve) => {
  it("carries the four kinds of call of gRPC", async () => {
    const greeter = connectGreeter(await serve(greetRouter()));
    expect((await greeter.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    expect(await greetings(greeter.greetEach({ names: ["Ada", "Bob"] }))).toEqual(["Hello, Ada!", "Hello, Bob!"]);
    expect((await greeter.greetTogether(arriving("Ada", "Bob"))).greeting).toBe("Hello, Ada and Bob!");
    expect(await greetings(greeter.greetOnArrival(arriving("Ada", "Bob")))).toEqual(["Hello, Ada!", "Hello, Bob!"]);
  });

  it("carries HTTP RPC", async () => {
    const baseUrl = await serve(greetRouter());
    const greeter = connectGreeter(baseUrl, { protocol: "http-rpc", httpVersion: "2", codec: "json" });
    expect((await greeter.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    expect((await failureOf(greeter.greet({}))).code).toBe(Code.NotFound);
  });

  it("carries metadata both ways, in headers and trailers", async () => {
    const greeter = connectGreeter(await serve(greetRouter()));
    const seen: unknown[] = [];
    await greeter.greet(
      { name: "Ada" },
      {
        headers: { "x-echo": "here", "x-bytes-bin": Uint8Array.of(0, 255) },
        onHeaders: (headers: Metadata) => seen.push(headers.get("x-echo")),
        onTrailers: (trailers: Metadata) => seen.push(trailers.getBinary("x-bytes-bin")),
      },
    );
    expect(seen).toEqual(["here", Uint8Array.of(0, 255)]);
  });

  it("carries errors before the first message and after it", async () => {
    const greeter = connectGreeter(
      await serve(
        greetRouter({
          async *greetEach() {
            yield { greeting: "Hello!" };
            throw new RpcError(Code.Aborted, "that is all", { trailers: { "x-why": "tired" } });
          },
        }),
      ),
    );
    const early = await failureOf(greeter.greet({}));
    expect([early.code, early.rawMessage, early.trailers.get("x-why")]).toEqual([
      Code.NotFound,
      "no such person",
      "no name",
    ]);
    const late = await failureOf(greeter.greetEach({}));
    expect([late.code, late.rawMessage, late.trailers.get("x-why")]).toEqual([Code.Aborted, "that is all", "tired"]);
  });

  it("ends an answer without messages with its headers, as gRPC's own client demands", async () => {
    const baseUrl = await serve(greetRouter());
    const Greeter = makeGenericClientConstructor(
      {
        greet: {
          path: GREET,
          requestStream: false,
          responseStream: false,
          requestSerialize: (bytes: Buffer) => bytes,
          requestDeserialize: (bytes: Buffer) => bytes,
          responseSerialize: (bytes: Buffer) => bytes,
          responseDeserialize: (bytes: Buffer) => bytes,
        },
      },
      "Greeter",
    );
    const client = new Greeter(new URL(baseUrl).host, credentials.createInsecure()) as unknown as Client & {
      greet(
        bytes: Buffer,
        metadata: GrpcMetadata,
        done: (error: { code: number; details: string } | null) => void,
      ): void;
    };
    onTestFinished(() => client.close());
    const error = await new Promise((resolve) => client.greet(Buffer.alloc(0), new GrpcMetadata(), resolve));
    expect(error).toMatchObject({ code: Code.NotFound, details: "no such person" });
  });

  it("carries messages larger than every window and refuses those over the limit", async () => {
    const greeter = connectGreeter(await serve(greetRouter()));
    const name = "x".repeat(MAX_MESSAGE_BYTES - 100);
    expect((await greeter.greet({ name })).greeting).toBe(`Hello, ${name}!`);
    expect((await failureOf(greeter.greet({ name: name + name }))).code).toBe(Code.ResourceExhausted);
    // The connection is still usable.
    expect((await greeter.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
  });

  it("notifies the handler when the caller disconnects", async () => {
    const { greet, started, ended } = waiting();
    const greeter = connectGreeter(await serve(greetRouter({ greet })));
    const controller = new AbortController();
    const call = greeter.greet({}, { signal: controller.signal });
    await started;
    controller.abort();
    expect((await failureOf(call)).code).toBe(Code.Canceled);
    expect(await ended).toMatchObject({ code: Code.Canceled });
  });

  it("distinguishes a reset stream from one that has ended", async () => {
    let finish = (_outcome: unknown): void => {};
    const outcome = new Promise<unknown>((resolve) => {
      finish = resolve;
    });
    const first = new AbortController();
    const greetTogether = async (requests: AsyncIterable<{ name: string }>) => {
      try {
        for await (const _request of requests) first.abort();
        finish("the messages ended");
      } catch (error) {
        finish(error);
      }
      return {};
    };
    const greeter = connectGreeter(await serve(greetRouter({ greetTogether })));
    async function* endless() {
      yield { name: "Ada" };
      await new Promise(() => {});
    }
    await failureOf(greeter.greetTogether(endless(), { signal: first.signal }));
    expect(await outcome).toMatchObject({ code: Code.Canceled });
  });

  it("answers requests that are not gRPC itself", async () => {
    const connection = new Http2Connection(await serve(greetRouter()));
    const headers = { "content-type": "application/grpc", te: "trailers" };
    const gone = await connection.post("/greet.v1.GreetService/Gone", headers, envelope(""));
    expect([gone.status, gone.headers["grpc-status"]]).toEqual([200, String(Code.Unimplemented)]);
  });
});

describe("a body that other middleware has read", () => {
  it("causes an error with the remedy", async () => {
    const handle = nodeHandler(greetRouter());
    const baseUrl = await listen(
      createServer((request, response) => {
        request.on("end", () => handle(request, response)).resume();
      }),
    );
    const error = await failureOf(connectGreeter(baseUrl).greet({ name: "Ada" }));
    expect([error.code, error.rawMessage]).toEqual([
      Code.Internal,
      expect.stringContaining("mount the handler before body parsers"),
    ]);
  });
});
