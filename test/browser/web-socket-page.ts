/** The page of the test: calls by one WebSocket. */
import { RpcError } from "triple-es";
import { createWebSocketTransport } from "triple-es/fetch";
import { createGreetServiceClient, type GreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";

let client: GreetServiceClient;
let controller: AbortController;

async function* named(names: readonly string[]) {
  for (const name of names) yield { name };
}

async function collect(messages: AsyncIterable<{ greeting: string }>): Promise<string[]> {
  const greetings: string[] = [];
  for await (const { greeting } of messages) greetings.push(greeting);
  return greetings;
}

const failureOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "no failure",
    (error) => (error instanceof RpcError ? error.message : `unexpected: ${error}`),
  );

const tunnel = {
  open(baseUrl: string): void {
    client = createGreetServiceClient(createWebSocketTransport({ baseUrl }));
  },

  /** Makes a call of each kind, and returns the results and the trailers of the first. */
  async callAll(...names: [string, string]): Promise<unknown> {
    let trailer: string | undefined;
    const { greeting } = await client.greet({ name: names[0] }, { onTrailers: (all) => (trailer = all.get("x-end")) });
    const each = await collect(client.greetEach({ names }));
    const together = (await client.greetTogether(named(names))).greeting;
    return { greeting, trailer, each, together, onArrival: await collect(client.greetOnArrival(named(names))) };
  },

  /** Makes concurrent calls, and returns the number of different results. */
  async callMany(count: number): Promise<number> {
    const calls = Array.from({ length: count }, (_, i) => client.greet({ name: `${i}` }));
    return new Set((await Promise.all(calls)).map(({ greeting }) => greeting)).size;
  },

  greet: async (name: string): Promise<string> => (await client.greet({ name })).greeting,
  failure: (name: string, timeoutMs?: number): Promise<string> => failureOf(client.greet({ name }, { timeoutMs })),

  /** Makes a call that `cancel` ends. */
  cancelled(name: string): Promise<string> {
    controller = new AbortController();
    return failureOf(client.greet({ name }, { signal: controller.signal }));
  },
  cancel: (): void => controller.abort(),
};

export type Tunnel = typeof tunnel;

Object.assign(globalThis, { tunnel });
