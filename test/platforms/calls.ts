/**
 * Calls of the generated client that every platform with `fetch` can make, by name. Their results can be sent from the
 * platform as JSON. The server is in `callee.ts`.
 */
import { create } from "@bufbuild/protobuf";
import { codeName, findDetails, RpcError } from "triple-es";
import { createTransport } from "triple-es/fetch";
import { GreetRequestSchema } from "../../examples/gen/greet/v1/greet_pb.ts";
import { createGreetServiceClient, type GreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";

export type CodecName = "json" | "proto";

const connect = (baseUrl: string, codec: CodecName): GreetServiceClient =>
  createGreetServiceClient(createTransport({ baseUrl, codec }));

/** A failure as a platform reports it. */
async function failureOf(call: Promise<unknown>) {
  try {
    return { unexpected: await call };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    const { code, rawMessage, trailers: metadata } = error;
    const details = findDetails(error, GreetRequestSchema).map(({ name }) => name);
    return { code: codeName(code), message: rawMessage, details, why: metadata.get("x-why") };
  }
}

async function collect(messages: AsyncIterable<{ readonly greeting: string }>, greetings: string[]): Promise<void> {
  for await (const { greeting } of messages) greetings.push(greeting);
}

export const calls = {
  /** One message in each direction. */
  async greet(baseUrl: string, codec: CodecName) {
    return (await connect(baseUrl, codec).greet(create(GreetRequestSchema, { name: "Ada" }))).greeting;
  },

  /** Metadata in both directions, text and bytes, leading and trailing. */
  async metadata(baseUrl: string, codec: CodecName) {
    const seen: unknown[] = [];
    await connect(baseUrl, codec).greet(
      { name: "Ada" },
      {
        headers: { "x-echo": "from afar", "x-bytes-bin": Uint8Array.of(0, 254, 255) },
        onHeaders: (headers) => seen.push(headers.get("x-echo")),
        onTrailers: (trailers) => seen.push([...(trailers.getBinary("x-bytes-bin") ?? [])]),
      },
    );
    return seen;
  },

  /** An error with all its members. */
  fail: (baseUrl: string, codec: CodecName) => failureOf(connect(baseUrl, codec).greet({})),

  /** A deadline that passes. */
  async expire(baseUrl: string, codec: CodecName) {
    const id = crypto.randomUUID();
    const { code } = (await failureOf(connect(baseUrl, codec).greet({ name: `Snail ${id}` }, { timeoutMs: 200 }))) as {
      code?: string;
    };
    return code;
  },

  /** A call that is cancelled after the server has started it, and the server's report of the cancellation. */
  async abort(baseUrl: string, codec: CodecName) {
    const greeter = connect(baseUrl, codec);
    const id = crypto.randomUUID();
    const controller = new AbortController();
    const failure = failureOf(greeter.greet({ name: `Snail ${id}` }, { signal: controller.signal }));
    await greeter.greet({ name: `Watcher ${id}` });
    controller.abort();
    const { code } = (await failure) as { code?: string };
    const { greeting } = await greeter.greet({ name: `Witness ${id}` });
    return { client: code, server: greeting };
  },

  /** Reports whether the signal of a successful call has fired. */
  async criticize(baseUrl: string, codec: CodecName) {
    const greeter = connect(baseUrl, codec);
    await greeter.greet({ name: "Ada" });
    return (await greeter.greet({ name: "Critic" })).greeting;
  },

  /** A stream of messages, with metadata before and after. */
  async watch(baseUrl: string, codec: CodecName) {
    const seen: unknown[] = [];
    const messages = connect(baseUrl, codec).greetEach(
      { names: ["Ada", "Bob"] },
      {
        onHeaders: (headers) => seen.push(headers.get("x-echo")),
        onTrailers: (trailers) => seen.push([...(trailers.getBinary("x-bytes-bin") ?? [])]),
      },
    );
    for await (const { greeting } of messages) seen.push(greeting);
    return seen;
  },

  /** A stream that fails after its first message. */
  async watchAndFail(baseUrl: string, codec: CodecName) {
    const seen: string[] = [];
    const failure = await failureOf(collect(connect(baseUrl, codec).greetEach({ names: ["Ada", ""] }), seen));
    return { seen, failure };
  },

  /** A stream whose deadline passes after its first message. */
  async watchAndExpire(baseUrl: string, codec: CodecName) {
    const seen: string[] = [];
    const messages = connect(baseUrl, codec).greetEach({ names: ["Snail of a stream"] }, { timeoutMs: 1000 });
    const { code } = (await failureOf(collect(messages, seen))) as { code?: string };
    return [...seen, code];
  },

  /** A stream that is cancelled after its first message, and the server's report of the cancellation. */
  async leave(baseUrl: string, codec: CodecName) {
    const greeter = connect(baseUrl, codec);
    const id = crypto.randomUUID();
    for await (const _ of greeter.greetEach({ names: [`Snail ${id}`] })) break;
    return (await greeter.greet({ name: `Witness ${id}` })).greeting;
  },
};

export type Calls = typeof calls;

/** The expected results of the calls. */
export const EXPECTED: Readonly<Record<keyof Calls, unknown>> = {
  greet: "Hello, Ada!",
  metadata: ["from afar", [0, 254, 255]],
  fail: { code: "not_found", message: "no such person – né", details: ["somebody"], why: "no name" },
  expire: "deadline_exceeded",
  abort: { client: "canceled", server: "canceled" },
  criticize: "silent",
  watch: ["leading", "Hello, Ada!", "Hello, Bob!", [0, 254, 255]],
  watchAndFail: {
    seen: ["Hello, Ada!"],
    failure: { code: "data_loss", message: "lost – né", details: [], why: "no name" },
  },
  watchAndExpire: ["Hello, Snail of a stream!", "deadline_exceeded"],
  leave: "canceled",
};

/** The expected results by the names that `client.ts` prints. */
export const EXPECTED_IN_BOTH: Readonly<Record<string, unknown>> = Object.fromEntries(
  Object.entries(EXPECTED).flatMap(([name, value]) => ["json", "proto"].map((codec) => [`${name} in ${codec}`, value])),
);
