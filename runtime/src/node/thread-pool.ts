/**
 * A counting semaphore in front of libuv's thread pool, which the file system and DNS use as well: a peer's messages must
 * take neither all of its threads nor all processors.
 */
import { availableParallelism } from "node:os";

/** Threads of the pool; four unless the environment variable `UV_THREADPOOL_SIZE` says otherwise. */
const THREADS = Number(process.env["UV_THREADPOOL_SIZE"]) || 4;

/** Most pieces of work in the pool at a time: half of its threads and of the processors. */
export const MAX_IN_THREAD_POOL: number = Math.max(1, Math.floor(Math.min(availableParallelism(), THREADS) / 2));

let running = 0;
const waiting: (() => void)[] = [];

/** Begins the work as soon as fewer than the maximum are running, in the order of the calls. */
export async function inThreadPool<T>(work: () => Promise<T>): Promise<T> {
  if (running < MAX_IN_THREAD_POOL) running += 1;
  // The one that ends leaves its slot to this one.
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }
}
