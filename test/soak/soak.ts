/** The soak: a client and a server make many calls, and their memory is sampled. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createTransport } from "triple-es/node";
import { createGreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import { callMany, cancelMany, createRandom, streamMany } from "./load.ts";
import { type Memory, readMemory } from "./memory.ts";
import type { ServerState } from "./server.ts";

/** Memory of both processes after a number of calls of a phase. */
export interface Look {
  readonly calls: number;
  readonly client: Memory;
  readonly server: ServerState;
}

export interface Soak {
  readonly unary: readonly Look[];
  readonly streams: readonly Look[];
  readonly cancelled: readonly Look[];
}

export interface SoakOptions {
  readonly unaryCalls: number;
  readonly streams: number;
  readonly cancelledCalls: number;
  /** Number of memory samples in each phase. */
  readonly looks: number;
  /** The program of the server, if not `server.ts`: one that Node runs without a loader of TypeScript, as this one then. */
  readonly server?: string | undefined;
  readonly onLook?: (phase: keyof Soak, look: Look) => void;
}

/** Runs all phases. Throws if a call ends unexpectedly, a handler continues, or an error occurs outside the calls. */
export async function runSoak({
  unaryCalls,
  streams,
  cancelledCalls,
  looks,
  server,
  onLook,
}: SoakOptions): Promise<Soak> {
  // With the flags of this process.
  const child = fork(server ?? fileURLToPath(new URL("server.ts", import.meta.url)));
  try {
    const [port] = (await once(child, "message")) as [number];
    const baseUrl = `http://127.0.0.1:${port}`;
    const random = createRandom(1);
    const soak: Record<keyof Soak, Look[]> = { unary: [], streams: [], cancelled: [] };
    const phase = async (name: keyof Soak, total: number, make: (calls: number) => Promise<void>): Promise<void> => {
      const step = Math.ceil(total / looks);
      for (let calls = step; calls <= total; calls += step) {
        await make(step);
        const look = { calls, server: await rest(child), client: await readMemory() };
        soak[name].push(look);
        onLook?.(name, look);
      }
    };
    const transport = createTransport({ baseUrl });
    const client = createGreetServiceClient(transport);
    await phase("unary", unaryCalls, (calls) => callMany(client, calls));
    await phase("streams", streams, (calls) => streamMany(client, calls));
    await transport.close();
    await phase("cancelled", cancelledCalls, (calls) => cancelMany(baseUrl, calls, random));
    return soak;
  } finally {
    child.disconnect();
  }
}

/** State of the server after its last handler has ended. */
async function rest(child: ChildProcess): Promise<ServerState> {
  for (let i = 0; i < 200; i++) {
    child.send("how are you?");
    const [state] = (await once(child, "message")) as [ServerState];
    if (state.errors.length > 0) throw new Error(`the server failed:\n${state.errors.join("\n")}`);
    if (state.running === 0) return state;
    await sleep(50);
  }
  throw new Error("handlers of the server go on though their calls have ended");
}
