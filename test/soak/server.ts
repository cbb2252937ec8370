/** The server of the soak, in a separate process. Reports its port to its parent, and then its state on request. */
import { createServer } from "triple-es/node";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { STREAM_MESSAGES } from "./load.ts";
import { type Memory, readMemory } from "./memory.ts";

export interface ServerState extends Memory {
  /** Number of handlers that have started, and of those that have not ended. */
  readonly started: number;
  readonly running: number;
  /** Unexpected errors. */
  readonly errors: readonly string[];
}

let started = 0;
let running = 0;
const errors: string[] = [];

async function count<T>(work: () => T | Promise<T>): Promise<T> {
  started++;
  running++;
  try {
    return await work();
  } finally {
    running--;
  }
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });

const server = createServer({ onError: (error) => errors.push(String(error)) }).add(GreetServiceDef, {
  // A call without a name waits until it is cancelled.
  greet: ({ name }, { signal }) => count(() => (name === "" ? aborted(signal) : { greeting: `Hello, ${name}!` })),
  async *greetEach({ names }, { signal }) {
    started++;
    running++;
    try {
      for (const name of names) yield { greeting: `Hello, ${name}!` };
      if (names.length < STREAM_MESSAGES) await aborted(signal);
    } finally {
      running--;
    }
  },
  greetTogether: () => ({ greeting: "" }),
  async *greetOnArrival() {},
});
await server.listen({ port: 0, host: "127.0.0.1" });

process.on("uncaughtException", (error) => errors.push(String(error.stack)));
process.on("unhandledRejection", (reason) => errors.push(String(reason)));
process.on("message", async () => {
  const state: ServerState = { ...(await readMemory()), started, running, errors };
  process.send?.(state);
});
process.on("disconnect", () => process.exit());
process.send?.(server.address.port);
