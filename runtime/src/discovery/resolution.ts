/**
 * Runs a resolver, again with exponential backoff when it fails, and limits its lookups to one per second.
 */

import { Backoff } from "../call/backoff.ts";
import { Code } from "../call/code.ts";
import { abortError, RpcError } from "../call/error.ts";
import { now } from "../call/platform.ts";
import { delayInBackground, onAbort } from "../call/timer.ts";
import type { Endpoint, Resolver } from "./endpoint.ts";

const MAX_BACKOFF_MS = 30_000;
/** The minimum time between two resolutions of `next`. */
const MIN_INTERVAL_MS = 1_000;

export interface ResolutionOwner {
  onList(endpoints: readonly Endpoint[]): void;
  /** Reports that the resolver has failed. It will run again. */
  onFailure(error: RpcError): void;
  onServiceConfig(serviceConfig: unknown): void;
  /** Reports an invalid entry that the resolver has skipped. */
  onProblem(problem: string): void;
}

/** Runs a resolver until it is paused, again after each failure. */
export class Resolution {
  readonly #resolver: Resolver;
  readonly #owner: ResolutionOwner;
  readonly #backoff: Backoff;
  #running: AbortController | undefined;
  #lastNews = Number.NEGATIVE_INFINITY;
  /** Requests a new lookup, for example after the loss of a connection: a wait of the resolver in `next` ends early. */
  refresh = (): void => {};

  constructor(resolver: Resolver, owner: ResolutionOwner) {
    this.#resolver = resolver;
    this.#owner = owner;
    this.#backoff = new Backoff(resolver.backoff ?? { maxMs: MAX_BACKOFF_MS });
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  start(): void {
    this.#running = new AbortController();
    void this.#run(this.#running.signal);
  }

  pause(): void {
    this.#running?.abort(new RpcError(Code.Canceled, "the target is no longer needed"));
    this.#running = undefined;
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (let isGiven = false; !signal.aborted; ) {
      try {
        for await (const list of this.#resolver({ signal, ...this.#context(signal) })) {
          if (signal.aborted) return;
          isGiven = true;
          this.#backoff.reset();
          this.#owner.onList(list);
        }
        if (isGiven || signal.aborted) return;
        throw new RpcError(Code.Unavailable, "its resolver has ended without a list of endpoints");
      } catch (reason) {
        if (signal.aborted) return;
        this.#owner.onFailure(RpcError.from(reason, Code.Unavailable));
        await delayInBackground(this.#backoff.next(), signal);
        this.#lastNews = now();
      }
    }
  }

  #context(signal: AbortSignal) {
    return {
      next: (maxMs: number): Promise<void> => this.#wait(maxMs, signal),
      configure: (serviceConfig: unknown): void => {
        if (!signal.aborted) this.#owner.onServiceConfig(serviceConfig);
      },
      warn: (problem: string): void => {
        if (!signal.aborted) this.#owner.onProblem(problem);
      },
    };
  }

  /** Waits for `maxMs`, or until {@link refresh} is called. Rejects when the signal fires. */
  async #wait(maxMs: number, signal: AbortSignal): Promise<void> {
    const early = new AbortController();
    this.refresh = () => early.abort();
    const unlink = onAbort(signal, this.refresh);
    await delayInBackground(maxMs, early.signal);
    const leftMs = this.#lastNews + MIN_INTERVAL_MS - now();
    if (leftMs > 0) await delayInBackground(leftMs, signal);
    unlink();
    if (signal.aborted) throw abortError(signal);
    this.#lastNews = now();
  }
}
