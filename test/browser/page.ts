/** What the test's page runs: calls of the generated client, by name, each with the server's URL. */
import { create } from "@bufbuild/protobuf";
import { codeName, findDetails, RpcError } from "triple-es";
import { createTransport } from "triple-es/fetch";
import { GreetRequestSchema } from "../../examples/gen/greet/v1/greet_pb.ts";
import { createGreetServiceClient, type GreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";

type CodecName = "json" | "proto";

const connect = (baseUrl: string, codec: CodecName = "json"): GreetServiceClient =>
  createGreetServiceClient(createTransport({ baseUrl, codec }));

/** What is known of a failure, as a value that leaves the page. */
async function failureOf(call: Promise<unknown>) {
  try {
    return { unexpected: await call };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    const { code, rawMessage, metadata } = error;
    const details = findDetails(error, GreetRequestSchema).map(({ name }) => name);
    return { code: codeName(code), message: rawMessage, details, why: metadata.get("x-why") };
  }
}

const calls = {
  async greet(baseUrl: string, codec: CodecName) {
    return (await connect(baseUrl, codec).greet(create(GreetRequestSchema, { name: "Ada" }))).greeting;
  },

  async metadata(baseUrl: string, codec: CodecName) {
    const seen: unknown[] = [];
    await connect(baseUrl, codec).greet(
      { name: "Ada" },
      {
        headers: { "x-echo": "from the page", "x-bytes-bin": Uint8Array.of(0, 254, 255) },
        onHeader: (headers) => seen.push(headers.get("x-echo")),
        onTrailer: (trailers) => seen.push([...(trailers.getBinary("x-bytes-bin") ?? [])]),
      },
    );
    return seen;
  },

  fail: (baseUrl: string, codec: CodecName) => failureOf(connect(baseUrl, codec).greet({})),

  expire: (baseUrl: string) => failureOf(connect(baseUrl).greet({ name: "Snail" }, { timeoutMs: 200 })),

  /** Aborts when the server says that the call has begun. */
  async abort(baseUrl: string) {
    const controller = new AbortController();
    const failure = failureOf(connect(baseUrl).greet({ name: "Snail" }, { signal: controller.signal }));
    await connect(baseUrl).greet({ name: "Watcher" });
    controller.abort();
    return failure;
  },
};

export type Calls = typeof calls;

Object.assign(globalThis, { calls });
