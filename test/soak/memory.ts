/**
 * The memory of a process after a garbage collection. Needs `--expose-gc`.
 */
import { setImmediate as turn } from "node:timers/promises";

export interface Memory {
  /** Live memory: the heap, and external memory of its objects. */
  readonly heldBytes: number;
  readonly residentBytes: number;
  /** Open sockets, timers and similar resources, by name. */
  readonly resources: Readonly<Record<string, number>>;
}

export async function readMemory(): Promise<Memory> {
  if (globalThis.gc === undefined) throw new Error("start node with --expose-gc");
  // Objects that one collection finalizes are freed by the next one.
  for (let i = 0; i < 3; i++) {
    globalThis.gc();
    await turn();
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  const resources: Record<string, number> = {};
  for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1;
  return { heldBytes: heapUsed + external, residentBytes: rss, resources };
}
