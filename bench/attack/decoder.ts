/**
 * The process that decodes attacks: one router, and what each request costs it. Started with `--expose-gc`.
 */
import { answerParent } from "../child.ts";
import { mainThreadNanoseconds } from "../cpu-time.ts";
import { ATTACKS, type Attack } from "./bodies.ts";
import { measureInHandlers, send } from "./router.ts";

const MIB = 2 ** 20;
const SIZE = 4 * MIB;
const WARM_UP_SIZE = 20_000;
const WARM_UP_CALLS = 10;
const MEASURED_CALLS = 2;
/** Time without garbage collection while live memory is measured, in milliseconds. */
const SAMPLE_MS = 15;

export interface Cost {
  readonly bytes: number;
  readonly blockMs: number;
  /** Most live memory while the request was decoded and handled, in bytes, without the request itself. */
  readonly liveBytes: number;
  readonly totalMs: number;
  readonly outcome: string;
}

/** Calls back in every turn of the event loop until it is stopped. */
function everyTurn(callback: () => void): () => void {
  let running = true;
  const turn = (): void => {
    if (!running) return;
    callback();
    setImmediate(turn);
  };
  setImmediate(turn);
  return () => {
    running = false;
  };
}

/** Milliseconds of this thread on a CPU, which do not depend on how busy the machine is. */
function cpuMs(): number {
  return (mainThreadNanoseconds() ?? performance.now() * 1_000_000) / 1_000_000;
}

/** The longest time between two turns of the event loop, in milliseconds on a CPU. */
async function blockOf(run: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = cpuMs();
  const look = (): void => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const stop = everyTurn(look);
  await run();
  await new Promise((resolve) => setImmediate(resolve));
  look();
  stop();
  return longest;
}

function live(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function liveOf(run: () => Promise<unknown>): Promise<number> {
  const before = live();
  let most = before;
  let last = performance.now();
  const sample = (): void => {
    most = Math.max(most, live());
    last = performance.now();
  };
  measureInHandlers(sample);
  const stop = everyTurn(() => {
    if (performance.now() - last > SAMPLE_MS) sample();
  });
  await run();
  stop();
  measureInHandlers(undefined);
  return most - before;
}

/** Bodies are measured at the largest size that is accepted, to this part of it. */
const SIZE_STEP = 1 / 64;

/** Returns the largest body that the limit on values accepts. Larger bodies cost less, because they are refused early. */
async function largestOf(attack: Attack, echoes: boolean): Promise<Uint8Array> {
  const accepted = async (bytes: number): Promise<Uint8Array | undefined> => {
    const body = attack.body(bytes);
    return (await send(attack, body, echoes)).includes("values") ? undefined : body;
  };
  let best = await accepted(SIZE);
  if (best !== undefined) return best;
  for (let low = WARM_UP_SIZE / 16, high = SIZE; high - low > low * SIZE_STEP; ) {
    const size = Math.floor(Math.sqrt(low * high));
    const body = await accepted(size);
    if (body === undefined) high = size;
    else [low, best] = [size, body];
  }
  return best ?? attack.body(SIZE);
}

async function costOf([index, echoes]: [index: number, echoes: boolean]): Promise<Cost> {
  const attack = ATTACKS[index] as Attack;
  const small = attack.body(WARM_UP_SIZE);
  for (let i = 0; i < WARM_UP_CALLS; i++) await send(attack, small, echoes);
  const body = await largestOf(attack, echoes);
  globalThis.gc?.();
  let blockMs = 0;
  let totalMs = 0;
  let outcome = "";
  for (let i = 0; i < MEASURED_CALLS; i++) {
    const start = performance.now();
    const block = await blockOf(async () => {
      outcome = await send(attack, body, echoes);
    });
    totalMs = Math.max(totalMs, performance.now() - start);
    blockMs = Math.max(blockMs, block);
  }
  const liveBytes = await liveOf(() => send(attack, body, echoes));
  return { bytes: body.byteLength, blockMs, liveBytes, totalMs, outcome };
}

answerParent({ costOf });
