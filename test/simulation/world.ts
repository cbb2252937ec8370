/**
 * The world of a simulation: a virtual clock, timers, randomness, and the loop that runs one event after the other.
 *
 * Microtasks and ticks are left to Node, which runs them in a fixed order. After each event the loop waits for a real
 * `setImmediate`, because Node empties the queues of microtasks and ticks completely before it.
 */
import { MAX_TIMER_MS } from "../../runtime/src/call/platform.ts";
import { createRandom, type Random } from "./random.ts";
import type { Trace } from "./trace.ts";

/** Deviations of the clock of a world from an ideal one. */
export interface ClockOptions {
  /** Upper bound of the time that one reading of the clock costs, in milliseconds. 0: time passes between events only. */
  readonly cpuMs: number;
  /** Upper bound of the delay of timers, in milliseconds. Timers also fire up to 0.99 ms early, as those of Node. */
  readonly latenessMs: number;
}

/** The modules that the product takes from its platform. */
export type Platform = typeof import("../../runtime/src/call/platform.ts");
export type NodePlatform = typeof import("../../runtime/src/node/platform.ts");

/** Longest time of work in another thread, in milliseconds. */
const MAX_TASK_MS = 3;

/** Input before immediates: `setImmediate` runs after all input that is ready (libuv's poll and check phases). */
const INPUT = 0;
const IMMEDIATE = 1;

interface Event {
  readonly at: number;
  readonly phase: number;
  readonly order: number;
  run: (() => void) | undefined;
}

/** A timer or a deferred call that has not run. */
export interface SimulatedTimer {
  readonly label: string;
  event: Event | undefined;
}

/** The time of the wall clock at the start of each world, in milliseconds since 1970. */
const EPOCH = Date.UTC(2030, 0, 1);
/** Events without progress of the clock after which the world is in a livelock. */
const LIVELOCK_EVENTS = 1_000_000;

export class World {
  /** The virtual time in milliseconds since the start of the world. */
  now = 1_000;
  /** The number of events that have run. */
  events = 0;
  readonly seed: number;
  readonly trace: Trace;
  /** Timers that have not fired or been stopped. */
  readonly timers: Set<SimulatedTimer> = new Set();
  readonly #clock: ClockOptions;
  readonly #heap: Event[] = [];
  readonly #streams = new Map<string, Random>();
  /** The due time of the last timer of each duration: timers of one duration fire in the order of their start. */
  readonly #lastDue = new Map<number, number>();
  #order = 0;
  #atSameTime = 0;
  #stopped = false;
  /** Called with an error that a callback has thrown, or that no code has handled. */
  onUncaught: (reason: unknown) => void = () => {};

  constructor(seed: number, clock: ClockOptions, trace: Trace) {
    this.seed = seed;
    this.trace = trace;
    this.#clock = clock;
  }

  /** Returns the stream of random numbers of a purpose. */
  random(purpose: string): Random {
    let stream = this.#streams.get(purpose);
    if (stream === undefined) {
      stream = createRandom(this.seed, purpose);
      this.#streams.set(purpose, stream);
    }
    return stream;
  }

  /** Records a line of the trace. */
  note(kind: string, subject: string, detail: string | number = ""): void {
    this.trace.add(this.now, kind, subject, detail);
  }

  /** Runs a callback at a time, in milliseconds; at once, after the current event, if the time has passed. */
  at(time: number, run: () => void): void {
    this.#push(time, INPUT, run);
  }

  after(ms: number, run: () => void): void {
    this.#push(this.now + ms, INPUT, run);
  }

  /** Settles after a virtual time, in milliseconds. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  /** Runs events until the promise settles; rejects if nothing is left to do before that. */
  async runUntil(done: Promise<unknown>): Promise<void> {
    let isDone = false;
    const settle = (): void => {
      isDone = true;
    };
    done.then(settle, settle);
    await new Promise<void>((resolve, reject) => {
      const step = (): void => {
        if (isDone || this.#stopped) resolve();
        else if (!this.#runNext()) reject(new Error("no event is left, but the scenario has not ended"));
        else if (this.#atSameTime > LIVELOCK_EVENTS) reject(new Error("livelock: events run, but time stands still"));
        else setImmediate(step);
      };
      setImmediate(step);
    });
  }

  /** Ends {@link runUntil}, for example after a violation. */
  stop(): void {
    this.#stopped = true;
  }

  /** The module `call/platform.ts` as the product sees it in this world. */
  platform(): Platform {
    const cost = this.random("cpu");
    const product = this.random("product");
    return {
      MAX_TIMER_MS,
      now: () => {
        if (this.#clock.cpuMs > 0) this.now += cost.next() * this.#clock.cpuMs;
        return this.now;
      },
      wallClock: () => EPOCH + Math.floor(this.now),
      random: () => product.next(),
      defer: (run) => this.#defer(run),
      startTimer: (ms, run) => this.#startTimer(run, ms, false),
      startBackgroundTimer: (ms, run) => this.#startTimer(run, ms, false),
      repeat: (ms, run) => this.#startTimer(run, ms, true),
    };
  }

  /** Does work of another thread at once, and settles after a time that is drawn. */
  async offload<T>(work: () => T): Promise<T> {
    const settled = new Promise<void>((resolve) => {
      this.after(this.random("thread pool").between(0.05, MAX_TASK_MS), resolve);
    });
    try {
      return work();
    } finally {
      await settled;
    }
  }

  #defer(run: () => void): void {
    const timer: SimulatedTimer = { label: "deferred", event: undefined };
    this.timers.add(timer);
    timer.event = this.#push(this.now, IMMEDIATE, () => {
      this.timers.delete(timer);
      run();
    });
  }

  #startTimer(run: () => unknown, ms: number, repeats: boolean): () => void {
    const duration = ms >= 1 ? Math.trunc(Math.min(ms, MAX_TIMER_MS)) : 1;
    const timer: SimulatedTimer = { label: `${repeats ? "interval" : "timeout"} ${ms}`, event: undefined };
    this.timers.add(timer);
    const arm = (): void => {
      timer.event = this.#push(this.#due(duration), INPUT, () => {
        if (repeats) arm();
        else this.timers.delete(timer);
        this.trace.mix(duration);
        run();
      });
    };
    arm();
    return () => {
      if (timer.event !== undefined) timer.event.run = undefined;
      this.timers.delete(timer);
    };
  }

  #due(duration: number): number {
    const jitter = this.random("timer").between(-0.99, this.#clock.latenessMs);
    const due = Math.max(this.now + duration + jitter, this.#lastDue.get(duration) ?? 0);
    this.#lastDue.set(duration, due);
    return due;
  }

  #push(at: number, phase: number, run: () => void): Event {
    const event: Event = { at: Math.max(at, this.now), phase, order: this.#order++, run };
    const heap = this.#heap;
    let i = heap.length;
    heap.push(event);
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!isBefore(event, heap[parent] as Event)) break;
      heap[i] = heap[parent] as Event;
      i = parent;
    }
    heap[i] = event;
    return event;
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child++;
      if (!isBefore(heap[child] as Event, last)) break;
      heap[i] = heap[child] as Event;
      i = child;
    }
    heap[i] = last;
    return first;
  }

  /** Runs the next event. Returns false if there is none. */
  #runNext(): boolean {
    for (;;) {
      const event = this.#pop();
      if (event === undefined) return false;
      const { run } = event;
      if (run === undefined) continue;
      if (event.at > this.now) {
        this.now = event.at;
        this.#atSameTime = 0;
      }
      this.#atSameTime++;
      this.events++;
      try {
        run();
      } catch (reason) {
        this.onUncaught(reason);
      }
      return true;
    }
  }
}

function isBefore(a: Event, b: Event): boolean {
  if (a.at !== b.at) return a.at < b.at;
  return a.phase !== b.phase ? a.phase < b.phase : a.order < b.order;
}
