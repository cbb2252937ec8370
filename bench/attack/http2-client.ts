/**
 * A process with a well-behaved client, which measures its latency, and with a client of the server that attacks.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createTransport } from "triple-es/node";
import { answerParent } from "../child.ts";
import { createCostlyServiceClient } from "../messages/gen/costly_triple.ts";

/** Pause between two calls, in milliseconds. */
const PAUSE_MS = 2;
/** Timeout and concurrency of the calls to the server that attacks. */
const ATTACKED_MS = 200;
const ATTACKED_CALLS = 4;

const connect = (port: number): ReturnType<typeof createCostlyServiceClient> =>
  createCostlyServiceClient(createTransport({ baseUrl: `http://127.0.0.1:${port}`, maxBackoffMs: 50 }));

let client: ReturnType<typeof connect>;
let attacked: ReturnType<typeof connect>;
let isAttacked = false;

function start({ port, attacker }: { port: number; attacker: number }): void {
  client = connect(port);
  attacked = connect(attacker);
}

/** Begins or stops to call the server that attacks. */
function expose(exposed: boolean): void {
  isAttacked = exposed;
  const repeat = async (): Promise<void> => {
    while (isAttacked) {
      await attacked.take({ text: "x" }, { timeoutMs: ATTACKED_MS }).catch(() => {});
      await sleep(PAUSE_MS);
    }
  };
  if (exposed) for (let i = 0; i < ATTACKED_CALLS; i++) void repeat();
}

/** Calls the well-behaved server for some seconds. Returns the latencies, in milliseconds. */
async function measure(seconds: number): Promise<number[]> {
  const times: number[] = [];
  const end = performance.now() + 1_000 * seconds;
  while (performance.now() < end) {
    const start = performance.now();
    await client.take({ text: "x" });
    times.push(performance.now() - start);
    await sleep(PAUSE_MS);
  }
  return times;
}

answerParent({ start, expose, measure });
