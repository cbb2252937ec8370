/**
 * The client under attack, in a separate process, so that the blocking of its event loop can be measured. It receives one
 * order from its parent, makes the call, and reports the result.
 */
import { once } from "node:events";
import { RpcError } from "triple-es";
import { createTransport } from "triple-es/node";
import { createGreetServiceClient } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { watchEventLoop } from "../../support/event-loop.ts";

/** The order from the parent. */
export interface ClientOrder {
  readonly baseUrl: string;
  readonly ca?: string | undefined;
  /** `upload`: a unary call with a request of the given size. `download`: a stream of responses, read to its end. */
  readonly call: "upload" | "download";
  readonly bytes: number;
  readonly timeoutMs: number;
}

/** The outcome of the call. */
export interface ClientReport {
  /** `ok`, or the code of the error. */
  readonly outcome: string;
  readonly messages: number;
  readonly elapsedMs: number;
  /** See {@link watchEventLoop}. */
  readonly longestBlockMs: number;
  readonly peakBytes: number;
  /** Errors that would have ended a program without a listener for them. */
  readonly uncaught: readonly string[];
}

const uncaught: string[] = [];
process.on("uncaughtException", (error) => uncaught.push(String(error.stack)));
process.on("unhandledRejection", (reason) => uncaught.push(String(reason)));

const [{ baseUrl, ca, call, bytes, timeoutMs }] = (await once(process, "message")) as [ClientOrder];
const client = createGreetServiceClient(createTransport({ baseUrl, tls: ca === undefined ? undefined : { ca } }));

const longestBlock = watchEventLoop();
let messages = 0;
const start = performance.now();
const outcome = await run().then(
  () => "ok",
  (error) => (error instanceof RpcError ? String(error.code) : String(error)),
);
const elapsedMs = performance.now() - start;
// A block that ended with the call is measured at the next tick.
await new Promise((resolve) => setTimeout(resolve, 100));
const longestBlockMs = longestBlock();
const peakBytes = process.resourceUsage().maxRSS * 1024;
const report: ClientReport = { outcome, messages, elapsedMs, longestBlockMs, peakBytes, uncaught };
process.send?.(report, () => process.exit());

async function run(): Promise<void> {
  if (call === "upload") await client.greet({ name: "x".repeat(bytes) }, { timeoutMs });
  else for await (const _ of client.greetEach({}, { timeoutMs })) messages++;
}
