/**
 * The ledger of all calls: what callers saw and what servers did. Its checks are the invariants of calls: at most once (I1),
 * honest results (I2), an end in time (I3), and the end of every handler (I6).
 */
import { type Behaviour, type Operation, PATIENT_MS, type Plan } from "./plan.ts";
import type { World } from "./world.ts";

/** Codes of gRPC that the checks name. */
export const OK = 0;
const CANCELED = 1;
const DEADLINE_EXCEEDED = 4;
const UNIMPLEMENTED = 12;
const UNAVAILABLE = 14;

/** Time by which a call may end after its deadline, in milliseconds, beyond the lateness of timers: the work of a busy turn. */
const TURN_MS = 30;

/** A broken invariant. */
export interface Violation {
  readonly invariant: string;
  readonly text: string;
  /** The events before it. */
  readonly lines: readonly string[];
}

/** Handlers that end when their signal fires, and the time within which it does, if nothing goes wrong. */
const HEEDING: readonly Behaviour[] = ["wait", "hang", "work"];
const CANCEL_MS = 3_000;
/** Time by which timers may fire early, in milliseconds. */
const EARLY_MS = 1;
/** Events in a report. */
const LINES = 6;

export interface Entry {
  readonly operation: Operation;
  /** Most executions that are allowed. */
  readonly maxExecutions: number;
  startedAt: number | undefined;
  /** The time for which the event loop had been blocked before. */
  readonly blockedMs: number;
  /** The attempts that were made, without transparent retries. */
  attempts: number;
  /** The servers that ran its handler, in order. */
  readonly executions: string[];
  /** The executions that run. */
  readonly running: Set<Execution>;
  settledAt: number | undefined;
  outcome: number | undefined;
  /** Its requests over HTTP/1.1; `isStale`: the server may have ended the connection of the last one. */
  requests: number;
  isStale: boolean;
  /** The time before which it is not sent again, by the report of its last transparent retry. */
  retryAt: number;
}

/** A handler that runs. */
export interface Execution {
  readonly server: string;
  /** The port of the client's end of its connection. */
  readonly port: number | undefined;
}

/** The bytes of a message: they identify the call, the direction and the position. */
export function fill(id: number, direction: "q" | "a", sequence: number, bytes: number): Buffer {
  return Buffer.alloc(bytes, `${direction}${id}.${sequence};`);
}

export class Ledger {
  readonly entries: Map<string, Entry> = new Map();
  readonly violations: Violation[] = [];
  /** Things that happened at least once, by name. */
  readonly seen: Map<string, number> = new Map();
  readonly #world: World;
  readonly #plan: Plan;
  readonly #excluded: readonly string[];
  /** The time of the first fault; calls before it have no reason to fail. */
  firstFaultAt: number = Number.POSITIVE_INFINITY;

  /** Broken invariants in `excluded` are not recorded. */
  constructor(world: World, plan: Plan, excluded: readonly string[] = []) {
    this.#excluded = excluded;
    this.#world = world;
    this.#plan = plan;
    // A server or a client with such a limit refuses connections or calls without any fault.
    if (
      plan.servers.some(
        ({ maxConnections, limits, shedLoad }) => shedLoad || (maxConnections ?? limits["maxHandlers"]),
      ) ||
      plan.clients.some(({ options }) => options["maxRequestsPerEndpoint"])
    )
      this.firstFaultAt = 0;
  }

  /** Counts something that must happen now and then in a campaign. */
  see(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }

  /** Records that something has gone wrong. */
  fail(): void {
    this.firstFaultAt = Math.min(this.firstFaultAt, this.#world.now);
  }

  /** Records a broken invariant. The first one ends the simulation. */
  violate(invariant: string, text: string): void {
    if (this.#excluded.includes(invariant)) return;
    this.violations.push({ invariant, text, lines: this.#world.trace.last(LINES) });
    this.#world.note("BROKEN", invariant, text);
    this.#world.stop();
  }

  start(id: string, operation: Operation, maxExecutions: number): Entry {
    const entry: Entry = {
      operation,
      maxExecutions,
      startedAt: this.#world.now,
      blockedMs: this.#world.blockedMs,
      attempts: 1,
      executions: [],
      running: new Set(),
      settledAt: undefined,
      outcome: undefined,
      requests: 0,
      isStale: false,
      retryAt: 0,
    };
    this.entries.set(id, entry);
    this.#world.note("call", id, `${operation.kind} ${operation.behaviour}`);
    return entry;
  }

  /** Called for each execution of a call after its first one. */
  onRepeated: (entry: Entry) => void = () => {};

  /** Records that a handler has begun. */
  execute(id: string, server: string): Entry {
    const entry = this.entries.get(id);
    if (entry === undefined) throw new Error(`the call ${id} was never made`);
    entry.executions.push(server);
    this.#world.note("execute", id, server);
    const { length } = entry.executions;
    if (this.#world.now < entry.retryAt - EARLY_MS)
      this.violate("I16", `call ${id} ran before the delay that was reported for its transparent retry was over`);
    if (length > 1) {
      this.see("executed again by a policy");
      this.onRepeated(entry);
    }
    if (length > entry.maxExecutions) {
      const allowed = entry.maxExecutions === 1 ? "once" : `${entry.maxExecutions} times`;
      this.violate(
        "I1",
        `call ${id} (${entry.operation.kind}) ran ${length} times, at ${entry.executions.join(", ")}; allowed is ${allowed}`,
      );
    }
    return entry;
  }

  /** Records the report of a transparent retry. */
  retry(id: string, delayMs: number): void {
    this.see(delayMs > 0 ? "transparent retry with a delay" : "transparent retry");
    const entry = this.entries.get(id);
    if (entry !== undefined) entry.retryAt = this.#world.now + delayMs;
  }

  /** Records a request over HTTP/1.1: a server may have read each, so that only a policy sends another one. */
  request(id: string, isReused: boolean): void {
    const entry = this.entries.get(id);
    if (entry === undefined) return;
    entry.isStale = isReused;
    if (++entry.requests > entry.maxExecutions)
      this.violate("I1", `call ${id} was sent ${entry.requests} times; allowed are ${entry.maxExecutions}`);
  }

  /** Records that a policy starts another attempt of a call, which must not have ended. */
  attempt(id: string): void {
    this.see("retry by policy");
    const entry = this.entries.get(id);
    if (entry === undefined) return;
    entry.attempts++;
    if (entry.settledAt !== undefined) this.violate("I3", `call ${id} has ended, and is attempted again`);
  }

  /** Records the result of a call, and checks it. `messages` is the number of responses that its caller read. */
  settle(id: string, entry: Entry, outcome: number, text: string): void {
    if (entry.settledAt !== undefined) {
      this.violate("I3", `call ${id} ended twice`);
      return;
    }
    entry.settledAt = this.#world.now;
    entry.outcome = outcome;
    this.#world.note("settle", id, outcome === OK ? "ok" : `${outcome} ${text}`);
    this.see(`outcome ${outcome}`);
    const [, option] = /option (maxPendingRequests|shedLoad)/.exec(text) ?? [];
    if (option !== undefined) this.see(`refused by ${option}`);
    this.#checkTime(id, entry);
    if (this.#isCalm && HEEDING.includes(entry.operation.behaviour))
      this.#world.after(CANCEL_MS, () => this.#checkCancelled(id, entry));
    const problem = this.#problemOf(entry, outcome);
    if (problem !== undefined)
      this.violate("I2", `call ${id} (${entry.operation.kind}, ${entry.operation.behaviour}) ${problem}: ${text}`);
  }

  /** Checks that every call and every handler has ended. */
  checkEnds(): void {
    for (const [id, { operation, settledAt, running, executions }] of this.entries) {
      if (settledAt === undefined)
        this.violate("I3", `call ${id} (${operation.kind}, ${operation.behaviour}) has not ended`);
      if (running.size > 0)
        this.violate(
          "I6",
          `the handler of call ${id} (${operation.kind}, ${operation.behaviour}) still runs at ${executions.at(-1)}`,
        );
    }
  }

  /** Checks that no handler of a call that has ended still waits for its signal. */
  #checkCancelled(id: string, { operation, running }: Entry): void {
    for (const { server } of running)
      this.violate(
        "I6",
        `the handler of call ${id} (${operation.kind}, ${operation.behaviour}) has no signal at ${server} ${CANCEL_MS} ms after the end`,
      );
  }

  #checkTime(id: string, { operation, startedAt = 0, settledAt = 0, blockedMs }: Entry): void {
    const { timeoutMs, cancelAfterMs, behaviour, pauseMs } = operation;
    const limit = Math.min(timeoutMs ?? Number.POSITIVE_INFINITY, cancelAfterMs ?? Number.POSITIVE_INFINITY);
    // A caller that pauses between two messages sees the end after its pause.
    const { latenessMs, cpuMs } = this.#plan.clock;
    const slack = TURN_MS + pauseMs + 2 * latenessMs + 1_500 * cpuMs + this.#world.blockedMs - blockedMs;
    const late = settledAt - startedAt - limit;
    if (late > slack)
      this.violate(
        "I3",
        `call ${id} (${operation.kind}, ${behaviour}) ended ${late.toFixed(1)} ms after its deadline or cancellation`,
      );
  }

  /** Reports whether every call with enough time can be answered: clients do not take each other's connections. */
  get #isCalm(): boolean {
    const { profile, servers } = this.#plan;
    const isFull = servers.some(({ maxConnections }) => maxConnections !== undefined);
    return (profile === "faultless" || profile === "rolling") && !isFull;
  }

  /** Explains why a result cannot be true; `undefined` if it can. */
  #problemOf(entry: Entry, outcome: number): string | undefined {
    const { operation, executions, startedAt = 0, settledAt = 0 } = entry;
    const elapsed = settledAt - startedAt;
    switch (outcome) {
      case OK:
        if (operation.readMessages === 0) return undefined;
        if (executions.length === 0) return "succeeded, but no server ran it";
        if (operation.behaviour === "fail") return "succeeded, although its handler failed";
        return operation.behaviour === "unknown method" ? "succeeded, although it has no method" : undefined;
      case CANCELED:
        if (operation.cancelAfterMs === undefined) return "was canceled, but not by its caller";
        return elapsed < operation.cancelAfterMs - 0.01 ? `was canceled after ${elapsed} ms, too early` : undefined;
      case DEADLINE_EXCEEDED:
        if (operation.timeoutMs === undefined) return "exceeded a deadline that it did not have";
        if (operation.timeoutMs === PATIENT_MS && this.#isCalm) return "waited for ever";
        return elapsed < operation.timeoutMs - 2
          ? `exceeded its deadline of ${operation.timeoutMs} ms after ${elapsed} ms`
          : undefined;
      case UNIMPLEMENTED:
        return operation.behaviour === "unknown method" ? undefined : "has no method at the server";
      case UNAVAILABLE:
        if (this.#plan.profile === "rolling" && isShort(operation)) {
          if (executions.length > 0) return "was lost while its server was drained";
          // One server after the other leaves the registry, and then drains.
          if (this.#plan.registry !== undefined) return "was lost in a rolling restart";
        }
        if (settledAt >= this.firstFaultAt || operation.behaviour === "fail") return undefined;
        // Over HTTP/1.1, a server may end an idle connection while a request is on its way to it.
        if (!entry.isStale || executions.length > 0) return "was unavailable before anything had gone wrong";
        this.see("HTTP/1.1: request meets the end of its connection");
        return undefined;
      default:
        return operation.behaviour === "fail" && outcome === operation.code ? undefined : `failed with code ${outcome}`;
    }
  }
}

const SHORT: readonly Behaviour[] = ["answer", "delay", "work"];

/** Reports whether a call ends within the grace period of all shutdowns of its plan. */
function isShort({ kind, behaviour }: Operation): boolean {
  return (kind === "ask" || kind === "askAgain") && SHORT.includes(behaviour);
}
