/**
 * Watches: values of a registry that change. Callbacks are used instead of iterations because a resolver combines many of
 * them.
 */
import { abortError, onAbort } from "triple-es/internal";

/** Receives a value, first when it is known and then after each change. */
export interface Watcher<T> {
  readonly onValue: (value: T) => void;
  /** Reports that the registry cannot be read any more. There are no further reports; start another watch. */
  readonly onFailure: (reason: unknown) => void;
}

/** Ends a watch. There are no further reports. */
export type StopWatch = () => void;

/** Starts a watch as an asynchronous function, which ends when the signal fires. */
export function startWatch<T>(
  watcher: Watcher<T>,
  run: (report: (value: T) => void, signal: AbortSignal) => Promise<void>,
): StopWatch {
  const ended = new AbortController();
  const report = (value: T): void => {
    if (!ended.signal.aborted) watcher.onValue(value);
  };
  run(report, ended.signal).catch((reason: unknown) => {
    if (!ended.signal.aborted) watcher.onFailure(reason);
  });
  return () => ended.abort();
}

/** A flag that several events set, and for which one function waits. */
export class Changes {
  #isSet = false;
  #failure: { readonly reason: unknown } | undefined;
  #wake = (): void => {};

  get isSet(): boolean {
    return this.#isSet;
  }

  readonly set = (): void => {
    this.#isSet = true;
    this.#wake();
  };

  /** Makes the current wait, or the next one, reject. */
  readonly fail = (reason: unknown): void => {
    this.#failure ??= { reason };
    this.#wake();
  };

  /** Waits until the flag is set, and clears it. Rejects after {@link fail}, and when the signal fires. */
  async next(signal: AbortSignal): Promise<void> {
    if (!this.isSet && this.#failure === undefined && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const unlink = onAbort(signal, () => this.#wake());
        this.#wake = () => {
          unlink();
          resolve();
        };
      });
      this.#wake = () => {};
    }
    if (this.#failure !== undefined) throw this.#failure.reason;
    if (signal.aborted) throw abortError(signal);
    this.#isSet = false;
  }
}
