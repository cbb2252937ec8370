/**
 * A registration: keeps the entries of an instance in a registry, through each loss of the session that holds them.
 *
 *     opening     waits for a session, with exponential backoff
 *     published   the session holds the entries; waits until it is lost, the instance changes, or the registration is closed
 *     offline     as published, but without entries
 *     closed      the entries are removed
 */
import { setMaxListeners } from "node:events";
import { Code, RpcError } from "triple-es";
import type { Instance, Registration, RegistrationEvent } from "triple-es/discovery";
import { Backoff, callHook, delayInBackground, resolvedWithin } from "triple-es/internal";
import { Changes } from "./watch.ts";

/** The hold of a client on its entries: a session of ZooKeeper, a lease of etcd, a connection of Nacos. */
export interface Session {
  /** Fires when the registry has removed the entries. */
  readonly lost: AbortSignal;
}

/** Writes the entries of instances. */
export interface Publisher<S extends Session> {
  /** Resolves with a session, the current one if there is one. Rejects if the registry cannot be reached. */
  readonly open: (signal: AbortSignal) => Promise<S>;
  /** Writes the entries of an instance, and removes those that only its earlier state has. */
  readonly publish: (session: S, instance: Instance, earlier: Instance | undefined) => Promise<void>;
  readonly withdraw: (session: S, instance: Instance) => Promise<void>;
}

/**
 * The first and the longest delay before another attempt, in milliseconds. A registry that has lost its data must be filled
 * soon, because new consumers read it.
 */
export const REGISTRATION_BACKOFF = { initialMs: 200, maxMs: 3_000 };
const DEFAULT_GRACE_MS = 5_000;

/** The error of requests to a registry that was closed. */
export const registryClosed = (): RpcError => new RpcError(Code.Canceled, "the registry is closed");

/** A registration whose services can change, too. */
export type KeptRegistration = Registration & { readonly update: (change: Partial<Instance>) => Promise<void> };

/** Keeps an instance registered. The returned promise of `ready` need not be handled. */
export function keepRegistered<S extends Session>(
  publisher: Publisher<S>,
  given: Instance,
  onEvent: (event: RegistrationEvent) => void = () => {},
): KeptRegistration {
  const ended = new AbortController();
  const changes = new Changes();
  const ready = deferred<void>();
  const updates = new Set<Deferred<void>>();
  let instance = given;
  let closing: Promise<void> | undefined;
  let isClosed = false;
  let entries: Entries<S> | undefined;
  let confirmed: ReturnType<Registration["status"]> = "pending";
  let reported: RegistrationEvent["type"] | undefined;

  /** Reports a change of state, not each failed attempt. */
  function notify(event: RegistrationEvent): void {
    if (event.type === reported) return;
    reported = event.type;
    callHook("the hook onRegistration", () => onEvent(event));
  }

  /** Publishes, and keeps the entries up to date until the session is lost. */
  async function hold(session: S): Promise<void> {
    const wake = changes.set;
    // Registrations share a session. Node prints a warning from the eleventh listener on.
    setMaxListeners(0, session.lost);
    session.lost.addEventListener("abort", wake);
    if (entries?.session.lost !== session.lost) entries = new Entries(publisher, session);
    try {
      while (!session.lost.aborted && !ended.signal.aborted) {
        const current = instance;
        const waiting = [...updates];
        await (current.offline ? entries.withdraw() : entries.publish(current));
        if (session.lost.aborted) return;
        confirmed = current.offline ? "offline" : "registered";
        if (current.offline) reported = undefined;
        else {
          ready.resolve();
          notify({ type: "registered" });
        }
        for (const update of waiting) {
          updates.delete(update);
          update.resolve();
        }
        if (instance === current) await changes.next(ended.signal).catch(() => {});
      }
    } finally {
      session.lost.removeEventListener("abort", wake);
    }
  }

  async function run(): Promise<void> {
    const retry = new Backoff(REGISTRATION_BACKOFF);
    while (!ended.signal.aborted) {
      try {
        const session = await publisher.open(ended.signal);
        if (ended.signal.aborted) break;
        await hold(session);
        retry.reset();
      } catch (reason) {
        // The registry is unreachable, or has refused an entry: both may be temporary.
        if (ended.signal.aborted) break;
        notify({ type: "failed", error: RpcError.from(reason, Code.Unavailable) });
        await delayInBackground(retry.next(), ended.signal);
      }
    }
    retry.reset();
    // Not after `close` has settled: the entries may be those of the next registration then. The session's end removes the rest.
    while (!isClosed) {
      try {
        return await entries?.withdraw();
      } catch {
        await delayInBackground(retry.next(), entries?.session.lost);
      }
    }
  }

  const running = run();

  async function close(graceMs: number): Promise<void> {
    const reason = new RpcError(Code.Canceled, "the registration is closed");
    ended.abort(reason);
    ready.reject(reason);
    for (const update of updates) update.reject(reason);
    await resolvedWithin(running, graceMs);
    isClosed = true;
  }

  return {
    ready: ready.promise,
    status: () => (closing === undefined ? confirmed : "closed"),
    update(change: Partial<Instance>) {
      if (closing !== undefined)
        return Promise.reject(new RpcError(Code.FailedPrecondition, "the registration is closed"));
      const members = Object.entries(change).filter(([, value]) => value !== undefined);
      instance = { ...instance, ...Object.fromEntries(members) };
      const update = deferred<void>();
      updates.add(update);
      changes.set();
      return update.promise;
    },
    close({ graceMs = DEFAULT_GRACE_MS } = {}) {
      closing ??= close(graceMs);
      return closing;
    },
  };
}

/** The entries that a session holds. */
class Entries<S extends Session> {
  readonly session: S;
  readonly #publisher: Publisher<S>;
  /** The states of the instance that may have entries: the current one, and those whose removal has failed. */
  #written: Instance[] = [];
  /** True if the last state was written completely. */
  #isComplete = false;

  constructor(publisher: Publisher<S>, session: S) {
    this.#publisher = publisher;
    this.session = session;
  }

  /** Writes a state of the instance, and removes the entries of earlier states, also of those that were written in part. */
  async publish(current: Instance): Promise<void> {
    const earlier = this.#written.filter((one) => one !== current);
    const wasComplete = this.#isComplete;
    if (wasComplete && earlier.length === 0) return;
    this.#written = [...earlier, current];
    this.#isComplete = false;
    if (!wasComplete) await this.#publisher.publish(this.session, current, undefined);
    for (const one of earlier) await this.#publisher.publish(this.session, current, one);
    this.#written = [current];
    this.#isComplete = true;
  }

  /** Removes the entries. The session may publish again. */
  async withdraw(): Promise<void> {
    if (this.session.lost.aborted) return;
    this.#isComplete = false;
    for (const one of this.#written) await this.#publisher.withdraw(this.session, one);
    this.#written = [];
  }
}

export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

/** Makes a promise that need not be handled. */
export function deferred<T>(): Deferred<T> {
  let [resolve, reject]: [(value: T) => void, (reason: unknown) => void] = [() => {}, () => {}];
  const promise = new Promise<T>((onResolve, onReject) => {
    [resolve, reject] = [onResolve, onReject];
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
}
