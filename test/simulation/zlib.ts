/**
 * The substitute of `node:zlib`: what Node does in its thread pool is done at once, and reported after a time that is drawn.
 */
import zlib from "node:zlib";
import type { World } from "./world.ts";

/** Longest time of a task in the thread pool, in milliseconds. */
const MAX_TASK_MS = 3;

type Done = (error: Error | null, output?: Buffer) => void;

export function simulatedZlib(world: World): object {
  const random = world.random("thread pool");
  const module: Record<string, unknown> = { ...zlib };
  for (const [name, value] of Object.entries(zlib)) {
    const sync: unknown = (zlib as unknown as Record<string, unknown>)[`${name}Sync`];
    if (typeof value !== "function" || typeof sync !== "function") continue;
    module[name] = (input: Uint8Array, options: object, done: Done) => {
      let finish: () => void;
      try {
        const output = sync(input, options) as Buffer;
        finish = () => done(null, output);
      } catch (reason) {
        finish = () => done(reason as Error);
      }
      world.after(random.between(0.05, MAX_TASK_MS), finish);
    };
  }
  return module;
}
