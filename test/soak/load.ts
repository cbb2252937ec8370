/**
 * The calls of the soak: unary calls, streams that are read to their ends, and calls that are cancelled at random points.
 */
import { Code, RpcError } from "triple-es";
import { createTransport } from "triple-es/node";
import { createGreetServiceClient, type GreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";

/** Number of concurrent calls. */
const CONCURRENCY = 50;
/**
 * Number of names in a request whose stream of responses ends. With fewer names, the stream continues until it is
 * cancelled.
 */
export const STREAM_MESSAGES = 10;
/** A server closes a connection with more cancelled calls than this, plus a few per second. */
const CANCELS_PER_TRANSPORT = 500;

/** Makes the given number of unary calls on one transport. Throws if a response is wrong. */
export async function callMany(client: GreetServiceClient, calls: number): Promise<void> {
  await inParallel(calls, async (index) => {
    const name = `caller ${index}`;
    const { greeting } = await client.greet({ name });
    if (greeting !== `Hello, ${name}!`) throw new Error(`call ${index} was answered with ${greeting}`);
  });
}

/** Reads the given number of streams to their ends, on one transport. Throws if messages are missing. */
export async function streamMany(client: GreetServiceClient, streams: number): Promise<void> {
  const names = Array.from({ length: STREAM_MESSAGES }, (_, i) => `caller ${i}`);
  await inParallel(streams, async (index) => {
    let received = 0;
    for await (const { greeting } of client.greetEach({ names })) {
      if (greeting !== `Hello, ${names[received]}!`) throw new Error(`stream ${index} had ${greeting} at ${received}`);
      received++;
    }
    if (received !== STREAM_MESSAGES) throw new Error(`stream ${index} ended after ${received} messages`);
  });
}

/**
 * Makes the given number of calls that end only by cancellation, half of them streams. Throws if one ends in another way.
 */
export async function cancelMany(baseUrl: string, calls: number, random: () => number): Promise<void> {
  for (let rest = calls; rest > 0; rest -= CANCELS_PER_TRANSPORT) {
    const transport = createTransport({ baseUrl });
    const client = createGreetServiceClient(transport);
    await inParallel(Math.min(rest, CANCELS_PER_TRANSPORT), () => giveUp(client, random));
    await transport.close();
  }
}

async function giveUp(client: GreetServiceClient, random: () => number): Promise<void> {
  const controller = new AbortController();
  const { signal } = controller;
  const calling =
    random() < 0.5 ? client.greet({}, { signal }) : readAll(client.greetEach({ names: ["a"] }, { signal }));
  const ended = calling.then(
    () => undefined,
    (error: unknown) => error,
  );
  await wait(random);
  controller.abort();
  const error = await ended;
  if (!(error instanceof RpcError) || error.code !== Code.Canceled) throw new Error(`not cancelled but ${error}`);
}

async function readAll(messages: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of messages);
}

/** Waits for nothing, for a few turns of the event loop, or for a few milliseconds. */
async function wait(random: () => number): Promise<void> {
  const kind = random();
  if (kind < 0.2) return;
  if (kind < 0.7) for (let turns = random() * 20; turns > 0; turns--) await new Promise(setImmediate);
  else await new Promise((resolve) => setTimeout(resolve, random() * 5));
}

async function inParallel(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, count) }, worker));
}

/** Random numbers from 0 to 1, equal in every run. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
