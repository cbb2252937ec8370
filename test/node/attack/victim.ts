/**
 * The server under attack, in a separate process, so that its memory can be measured. It receives orders from its parent,
 * reports its port, and then its state on request.
 */
import { once } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { type ConnectionLimits, createServer } from "triple-es/node";
import { GreetServiceDef } from "../../../examples/gen/greet/v1/greet_triple.ts";
import type { Certificate } from "../../support/certificate.ts";
import { watchEventLoop } from "../../support/event-loop.ts";

/** The first message from the parent. */
export interface Orders {
  /** Certificate and key of a server over TLS. */
  readonly tls?: Certificate | undefined;
  /** Limits that replace the short ones of these tests. */
  readonly limits?: ConnectionLimits | undefined;
  /** The option `maxBufferedBytes`. */
  readonly maxBufferedBytes?: number | undefined;
  /** True to collect garbage continuously, which reveals the peak of live memory. */
  readonly watchMemory?: boolean | undefined;
}

/** The counts of a server: its sockets, handlers and errors. */
export interface Counts {
  readonly sockets: number;
  /** Number of handlers that have started, and of those that have not ended. */
  readonly started: number;
  readonly running: number;
  /** Maximum number of running handlers since the last request. */
  readonly peak: number;
  /** Maximum number of stream messages processed in one turn of the event loop since the last request. */
  readonly mostPerTurn: number;
  /** Longest block of the event loop since the last request, see {@link watchEventLoop}. */
  readonly longestBlockMs: number;
  /** Errors that would have ended a program without a listener. */
  readonly uncaught: readonly string[];
}

/** The state of the server, after a collection of garbage. */
export interface Health extends Counts {
  readonly residentBytes: number;
  /** Live objects and buffers, and their maximum so far, if it is measured. */
  readonly liveBytes: number;
  readonly peakLiveBytes: number;
}

let started = 0;
let running = 0;
let peak = 0;
let messagesInTurn = 0;
let mostPerTurn = 0;
const longestBlock = watchEventLoop();
const uncaught: string[] = [];
process.on("uncaughtException", (error) => uncaught.push(String(error.stack)));
process.on("unhandledRejection", (reason) => uncaught.push(String(reason)));

// Shorter than the defaults, because the tests wait for them: these limits end what Node abandons without closing.
const SHORT_LIMITS: ConnectionLimits = { headersTimeoutMs: 1_000, stallTimeoutMs: 2_000 };
const [orders] = (await once(process, "message")) as [Orders];
const { tls, limits = SHORT_LIMITS, maxBufferedBytes, watchMemory = false } = orders;
const onError = (error: unknown): unknown => uncaught.push(String(error));

let peakLiveBytes = 0;

function liveBytes(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  peakLiveBytes = Math.max(peakLiveBytes, heapUsed + external);
  return heapUsed + external;
}

if (watchMemory) setInterval(liveBytes, 250).unref();

async function count<T>(work: () => Promise<T>): Promise<T> {
  started++;
  running++;
  peak = Math.max(peak, running);
  try {
    return await work();
  } finally {
    running--;
  }
}

function countInTurn(): void {
  if (messagesInTurn === 0) {
    setImmediate(() => {
      messagesInTurn = 0;
    });
  }
  messagesInTurn++;
  mostPerTurn = Math.max(mostPerTurn, messagesInTurn);
}

/**
 * Settles when the parent sends "release". Handlers of calls with the name `stubborn` wait for it, even if they are
 * cancelled.
 */
let release = (): void => {};
const released = new Promise<void>((resolve) => {
  release = resolve;
});

/** The size of a large response: a name such as `big 4096` requests it; `big` requests 1 MiB. */
function bytesOf(name: string): number {
  return Number(name.slice("big".length)) || 1024 * 1024;
}

/** The size of the messages of an endless stream: a name such as `endless 10` requests it. */
function endlessBytes(name = ""): number {
  return name.startsWith("endless") ? Number(name.slice("endless".length)) : 0;
}

function clip(name: string): string {
  return name.slice(0, 100);
}

const server = createServer({ tls, limits, maxBufferedBytes, onError }).add(GreetServiceDef, {
  greet: ({ name }) =>
    count(async () => {
      if (name === "stubborn") await released;
      return { greeting: name.startsWith("big") ? "x".repeat(bytesOf(name)) : `Hello, ${clip(name)}!` };
    }),
  async *greetEach({ names }) {
    const bytes = endlessBytes(names[0]);
    // Like messages of a real source, these arrive in different turns of the event loop.
    for (let i = 1; bytes > 0; i++) {
      yield { greeting: "x".repeat(bytes) };
      if (i % 64 === 0) await turn();
    }
    for (const name of names) yield { greeting: name };
  },
  greetTogether: (requests) =>
    count(async () => {
      let messages = 0;
      for await (const _ of requests) {
        messages++;
        countInTurn();
      }
      return { greeting: String(messages) };
    }),
  async *greetOnArrival(requests) {
    for await (const { name } of requests) yield { greeting: name };
  },
});
await server.listen({ port: 0, host: "127.0.0.1" });

function counts(): Counts {
  const sockets = process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
  const counted: Counts = { sockets, started, running, peak, mostPerTurn, longestBlockMs: longestBlock(), uncaught };
  peak = running;
  mostPerTurn = 0;
  return counted;
}

process.on("message", async (order: "release" | "count" | "measure") => {
  if (order === "release") return release();
  await turn();
  if (order === "count") return process.send?.(counts());
  const live = liveBytes();
  const residentBytes = process.memoryUsage.rss();
  process.send?.({ ...counts(), residentBytes, liveBytes: live, peakLiveBytes } satisfies Health);
});
process.on("disconnect", () => process.exit());
process.send?.(server.address.port);
