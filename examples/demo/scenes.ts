/** The calls of the demo, each with the expected answer. */
import { type CallOptions, RpcError } from "triple-es";
import type { NodeTransportOptions } from "triple-es/node";
import type { GreetServiceClient } from "../gen/greet/v1/greet_triple.ts";

export interface Scene {
  readonly title: string;
  readonly transport: Omit<NodeTransportOptions, "baseUrl">;
  call(client: GreetServiceClient): Promise<unknown>;
  readonly answer: unknown;
}

const A = { protocol: "http-rpc" } as const;
const B = { protocol: "grpc" } as const;

export const scenes: readonly Scene[] = [
  {
    title: "A, unary, JSON over HTTP/1.1",
    transport: { ...A, httpVersion: "1.1", codec: "json" },
    call: (client) => greet(client, "Dubbo"),
    answer: "Hello, Dubbo!",
  },
  {
    title: "A, unary, JSON over HTTP/2",
    transport: { ...A, httpVersion: "2", codec: "json" },
    call: (client) => greet(client, "Dubbo"),
    answer: "Hello, Dubbo!",
  },
  {
    title: "A, unary, proto over HTTP/2",
    transport: { ...A, httpVersion: "2", codec: "proto" },
    call: (client) => greet(client, "Dubbo"),
    answer: "Hello, Dubbo!",
  },
  {
    title: "B, unary",
    transport: B,
    call: (client) => greet(client, "Dubbo"),
    answer: "Hello, Dubbo!",
  },
  {
    title: "B, server streaming",
    transport: B,
    call: (client) => greetings(client.greetEach({ names: ["Ann", "Bob"] })),
    answer: ["Hello, Ann!", "Hello, Bob!"],
  },
  {
    title: "B, client streaming",
    transport: B,
    call: async (client) => (await client.greetTogether(guests())).greeting,
    answer: "Hello, Ann and Bob!",
  },
  {
    title: "B, bidirectional streaming: the second request waits for the first answer",
    transport: B,
    call: (client) => conversation(client),
    answer: ["Hello, Ann!", "Hello, Bob!"],
  },
  {
    title: "An error in A: an HTTP status and a JSON body",
    transport: { ...A, codec: "json" },
    call: (client) => failure(greet(client, "")),
    answer: "[invalid_argument] the name is empty",
  },
  {
    title: "The same error in B: trailers",
    transport: B,
    call: (client) => failure(greet(client, "")),
    answer: "[invalid_argument] the name is empty",
  },
  {
    title: "A deadline of 200 ms, for the Snail, who never answers",
    transport: B,
    // The text depends on which side's timer fires first; the code does not.
    call: async (client) => (await failure(greet(client, "Snail", { timeoutMs: 200 }))).replace(/].*/, "]"),
    answer: "[deadline_exceeded]",
  },
  {
    title: "Metadata: a -bin key carries bytes",
    transport: B,
    call: (client) => sealed(client),
    answer: { greeting: "Hello, Dubbo!", sealedBy: "the greeter", seal: [255, 2, 1] },
  },
];

async function greet(client: GreetServiceClient, name: string, options?: CallOptions): Promise<string> {
  const { greeting } = await client.greet({ name }, options);
  return greeting;
}

async function greetings(answers: AsyncIterable<{ greeting: string }>): Promise<string[]> {
  const all: string[] = [];
  for await (const { greeting } of answers) all.push(greeting);
  return all;
}

async function* guests(): AsyncGenerator<{ name: string }> {
  yield { name: "Ann" };
  yield { name: "Bob" };
}

/** Sends the second name only after the first greeting, which shows that both directions are open at the same time. */
async function conversation(client: GreetServiceClient): Promise<string[]> {
  let answered = (): void => {};
  const firstAnswer = new Promise<void>((resolve) => {
    answered = resolve;
  });
  async function* arrivals(): AsyncGenerator<{ name: string }> {
    yield { name: "Ann" };
    await firstAnswer;
    yield { name: "Bob" };
  }
  const all: string[] = [];
  for await (const { greeting } of client.greetOnArrival(arrivals())) {
    all.push(greeting);
    answered();
  }
  return all;
}

async function failure(call: Promise<unknown>): Promise<string> {
  return call.then(
    (answer) => `no error, but ${JSON.stringify(answer)}`,
    (error) => (error instanceof RpcError ? error.message : `not an RpcError, but ${error}`),
  );
}

async function sealed(client: GreetServiceClient): Promise<unknown> {
  let sealedBy: string | undefined;
  let seal: Uint8Array | undefined;
  const greeting = await greet(client, "Dubbo", {
    headers: { "seal-bin": Uint8Array.of(1, 2, 255) },
    onHeaders: (headers) => {
      sealedBy = headers.get("sealed-by");
    },
    onTrailers: (trailers) => {
      seal = trailers.getBinary("seal-bin");
    },
  });
  return { greeting, sealedBy, seal: [...(seal ?? [])] };
}
