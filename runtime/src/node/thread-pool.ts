/**
 * A counting semaphore for work in libuv's thread pool, which the file system and DNS use as well: the messages of a peer
 * must not take all of its threads or all processors.
 */
import { dropsCallbacks } from "../call/platform.ts";
import { availableParallelism } from "./platform.ts";

/** Number of threads in the pool: four unless the environment variable `UV_THREADPOOL_SIZE` sets another number. */
const THREADS = Number(process.env["UV_THREADPOOL_SIZE"]) || 4;

/** Most tasks that are in the pool at a time: half of its threads and of the processors. */
export const MAX_IN_THREAD_POOL: number = Math.max(1, Math.floor(Math.min(availableParallelism(), THREADS) / 2));

let running = 0;
const waiting: (() => void)[] = [];

/** Starts the work as soon as fewer than the maximum are running, in the order of the calls. */
export async function inThreadPool<T>(work: () => Promise<T>): Promise<T> {
  if (dropsCallbacks) return work();
  if (running < MAX_IN_THREAD_POOL) running += 1;
  // The task that ends passes its slot to this one, so the number of running tasks does not change.
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }
}
