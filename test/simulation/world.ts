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

/** The phases of a turn of the event loop, in the order of libuv: input that is ready, immediates, closed sockets, timers. */
const PHASES = ["input", "immediates", "closed", "timers"] as const;
type Phase = (typeof PHASES)[number];

interface Event {
  readonly at: number;
  readonly order: number;
  run: (() => void) | undefined;
}

/** A timer, or a deferred call, that has not run. */
export interface SimulatedTimer {
  readonly label: string;
  event: Event | undefined;
}

/**
 * The timers of one duration. They run in the order of their start, one after the other, also if a timer of another duration
 * was due between them: Node sorts its lists of timers by the first timer of each.
 */
interface TimerList {
  readonly events: TimerEvent[];
  lastDue: number;
}

interface TimerEvent extends Event {
  readonly list: TimerList;
}

/** The time of the wall clock at the start of each world, in milliseconds since 1970. */
const EPOCH = Date.UTC(2030, 0, 1);
const NEVER = Number.POSITIVE_INFINITY;
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
  readonly #inputs = new EventHeap<Event>();
  readonly #due = new EventHeap<TimerEvent>();
  readonly #lists = new Map<number, TimerList>();
  readonly #streams = new Map<string, Random>();
  #phase: Phase = "input";
  /** The time at which the phase began: what becomes due in it runs in a later turn. */
  #phaseAt = 0;
  #phaseOrder = 0;
  /** The callbacks of the next and of this phase of immediates, and of that of closed sockets. */
  #deferred: Event[] = [];
  #closed: Event[] = [];
  #batch: Event[] = [];
  /** The list whose timers run. */
  #list: TimerList | undefined;
  #wallClockOffset = 0;
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
    this.#inputs.push(this.#event(time, run));
  }

  after(ms: number, run: () => void): void {
    this.at(this.now + ms, run);
  }

  /** Runs a callback in the phase of closed sockets. */
  onClosed(run: () => void): void {
    this.#closed.push(this.#event(this.now, run));
  }

  /** The time for which {@link block} has let all programs stand still, in milliseconds. */
  blockedMs = 0;

  /** Lets time pass in the current callback: it blocks the event loop. */
  block(ms: number): void {
    this.now += ms;
    this.blockedMs += ms;
  }

  /** Sets the wall clock forward, or back. */
  jump(ms: number): void {
    this.#wallClockOffset += ms;
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
      dropsCallbacks: false,
      now: () => {
        if (this.#clock.cpuMs > 0) this.now += cost.next() * this.#clock.cpuMs;
        return this.now;
      },
      wallClock: () => EPOCH + Math.floor(this.now + this.#wallClockOffset),
      cpuTime: () => this.now,
      random: () => product.next(),
      defer: (run) => this.#defer(run),
      startTimer: (ms, run) => this.#startTimer(run, ms, false),
      startBackgroundTimer: (ms, run) => this.#startTimer(run, Math.min(ms, MAX_TIMER_MS), false),
      repeat: (ms, run) => this.#startTimer(run, Math.min(ms, MAX_TIMER_MS), true),
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
    timer.event = this.#event(this.now, () => {
      this.timers.delete(timer);
      run();
    });
    this.#deferred.push(timer.event);
  }

  #startTimer(run: () => unknown, ms: number, repeats: boolean): () => void {
    const duration = ms >= 1 ? Math.trunc(ms) : 1;
    const timer: SimulatedTimer = { label: `${repeats ? "interval" : "timeout"} ${ms}`, event: undefined };
    this.timers.add(timer);
    const arm = (): void => {
      timer.event = this.#arm(duration, () => {
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

  #arm(duration: number, run: () => void): Event {
    let list = this.#lists.get(duration);
    if (list === undefined) {
      list = { events: [], lastDue: 0 };
      this.#lists.set(duration, list);
    }
    const jitter = this.random("timer").between(-0.99, this.#clock.latenessMs);
    list.lastDue = Math.max(this.now + duration + jitter, list.lastDue);
    const event: TimerEvent = { ...this.#event(list.lastDue, run), list };
    list.events.push(event);
    this.#due.push(event);
    return event;
  }

  #event(at: number, run: () => void): Event {
    return { at: Math.max(at, this.now), order: this.#order++, run };
  }

  /** Runs the next callback. Returns false if there is none. */
  #runNext(): boolean {
    const run = this.#next();
    if (run === undefined) return false;
    this.#atSameTime++;
    this.events++;
    try {
      run();
    } catch (reason) {
      this.onUncaught(reason);
    }
    return true;
  }

  #next(): (() => void) | undefined {
    for (let idle = 0; ; idle++) {
      const run = this.#ofPhase();
      if (run !== undefined) return run;
      // Nothing is due: time passes. Input that arrives is read first, as libuv waits for it.
      if (idle === PHASES.length) {
        const at = Math.min(this.#inputs.first?.at ?? NEVER, this.#due.first?.at ?? NEVER);
        if (at === NEVER) return undefined;
        if (at > this.now) this.#atSameTime = 0;
        this.now = Math.max(this.now, at);
        this.#enter("input");
        idle = 0;
      } else if (!this.#repeatsTimers())
        this.#enter(PHASES[(PHASES.indexOf(this.#phase) + 1) % PHASES.length] as Phase);
    }
  }

  /**
   * Node runs timers again before input if they became due while timers ran, and a microtask of the last one has started a
   * timer, which makes libuv read the clock.
   */
  #repeatsTimers(): boolean {
    if (this.#phase !== "timers" || (this.#due.first?.at ?? NEVER) > this.now) return false;
    if (!this.random("phase").chance(0.25)) return false;
    this.#enter("timers");
    return true;
  }

  #enter(phase: Phase): void {
    this.#phase = phase;
    this.#phaseAt = this.now;
    this.#phaseOrder = this.#order;
    this.#list = undefined;
    if (phase === "immediates") {
      this.#batch = this.#deferred;
      this.#deferred = [];
    } else if (phase === "closed") {
      this.#batch = this.#closed;
      this.#closed = [];
    }
  }

  /** Returns the next callback of the phase; `undefined` at its end. */
  #ofPhase(): (() => void) | undefined {
    for (;;) {
      const event = this.#takeEvent();
      if (event === undefined) return undefined;
      const { run } = event;
      // A timer is in its list and in the heap.
      event.run = undefined;
      if (run !== undefined) return run;
    }
  }

  #takeEvent(): Event | undefined {
    if (this.#phase === "input") {
      const { first } = this.#inputs;
      return first !== undefined && first.at <= this.#phaseAt && first.order < this.#phaseOrder
        ? this.#inputs.pop()
        : undefined;
    }
    if (this.#phase !== "timers") return this.#batch.shift();
    let next = this.#list?.events[0];
    if (next === undefined || next.at > this.#phaseAt) next = this.#due.first;
    if (next === undefined || next.at > this.#phaseAt) return undefined;
    this.#list = next.list;
    return next.list.events.shift();
  }
}

/** Events in the order of time. Those that were stopped are skipped. */
class EventHeap<E extends Event> {
  readonly #events: E[] = [];

  get first(): E | undefined {
    while (this.#events[0]?.run === undefined && this.#events.length > 0) this.pop();
    return this.#events[0];
  }

  push(event: E): void {
    const heap = this.#events;
    let i = heap.length;
    heap.push(event);
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!isBefore(event, heap[parent] as E)) break;
      heap[i] = heap[parent] as E;
      i = parent;
    }
    heap[i] = event;
  }

  pop(): E | undefined {
    const heap = this.#events;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as E, heap[child] as E)) child++;
      if (!isBefore(heap[child] as E, last)) break;
      heap[i] = heap[child] as E;
      i = child;
    }
    heap[i] = last;
    return first;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at !== b.at ? a.at < b.at : a.order < b.order;
}
