/**
 * The world of a simulation: a virtual clock, timers, randomness, and the loop that runs one event after the other.
 *
 * Microtasks and ticks are left to Node, which runs them in a fixed order. After each event the loop waits for a real
 * `setImmediate`, because Node empties the queues of microtasks and ticks completely before it.
 */
import { createRandom, type Random } from "./random.ts";
import type { Trace } from "./trace.ts";

/** Deviations of the clock of a world from an ideal one. */
export interface ClockOptions {
  /** Upper bound of the time that one reading of the clock costs, in milliseconds. 0: time passes between events only. */
  readonly cpuMs: number;
  /** Upper bound of the delay of timers, in milliseconds. Timers also fire up to 0.99 ms early, as those of Node. */
  readonly latenessMs: number;
}

/** Input before immediates: `setImmediate` runs after all input that is ready (libuv's poll and check phases). */
const INPUT = 0;
const IMMEDIATE = 1;

interface Event {
  readonly at: number;
  readonly phase: number;
  readonly order: number;
  run: (() => void) | undefined;
}

/** A one-shot timer, interval or immediate, with the methods of Node's. */
export class SimulatedTimer {
  readonly #world: World;
  readonly repeatMs: number | undefined;
  readonly label: string;
  event: Event | undefined;

  constructor(world: World, repeatMs: number | undefined, label: string) {
    this.#world = world;
    this.repeatMs = repeatMs;
    this.label = label;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  stop(): void {
    if (this.event !== undefined) this.event.run = undefined;
    this.event = undefined;
    this.#world.timers.delete(this);
  }
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

  /** The functions of the platform that the product sees instead of its own. */
  platform(): Platform {
    const cost = this.random("cpu");
    const product = this.random("product");
    return {
      setTimeout: (run, ms = 1, ...args) => this.#startTimer(() => run(...args), ms, false),
      setInterval: (run, ms = 1, ...args) => this.#startTimer(() => run(...args), ms, true),
      setImmediate: (run, ...args) => this.#startImmediate(() => run(...args)),
      clearTimeout: stopTimer,
      clearInterval: stopTimer,
      clearImmediate: stopTimer,
      performance: {
        now: () => {
          if (this.#clock.cpuMs > 0) this.now += cost.next() * this.#clock.cpuMs;
          return this.now;
        },
      },
      random: () => product.next(),
      dateNow: () => EPOCH + Math.floor(this.now),
    };
  }

  #startImmediate(run: () => void): SimulatedTimer {
    const timer = new SimulatedTimer(this, undefined, "immediate");
    this.timers.add(timer);
    timer.event = this.#push(this.now, IMMEDIATE, () => {
      this.timers.delete(timer);
      run();
    });
    return timer;
  }

  #startTimer(run: () => void, ms: number, repeats: boolean): SimulatedTimer {
    const duration = ms >= 1 && ms <= 2 ** 31 - 1 ? Math.trunc(ms) : 1;
    const timer = new SimulatedTimer(this, repeats ? duration : undefined, `${repeats ? "interval" : "timeout"} ${ms}`);
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
    return timer;
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

function stopTimer(timer: unknown): void {
  if (timer instanceof SimulatedTimer) timer.stop();
}

type Callback = (...args: unknown[]) => void;
type Start = (run: Callback, ms?: number, ...args: unknown[]) => SimulatedTimer;

/** Clock, timers and randomness, in the form in which the product takes them from its platform. */
export interface Platform {
  readonly setTimeout: Start;
  readonly setInterval: Start;
  readonly setImmediate: (run: Callback, ...args: unknown[]) => SimulatedTimer;
  readonly clearTimeout: (timer: unknown) => void;
  readonly clearInterval: (timer: unknown) => void;
  readonly clearImmediate: (timer: unknown) => void;
  readonly performance: { now(): number };
  readonly random: () => number;
  readonly dateNow: () => number;
}
