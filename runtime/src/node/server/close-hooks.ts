/**
 * The callbacks that run when a server begins to close, before it drains its connections. A provider leaves its registry in
 * one of them, while it still answers the calls of clients that do not know this yet.
 */
import { callHook, reportFailure } from "../../call/error.ts";
import { settledWithin } from "../../call/timer.ts";

export type CloseHook = () => unknown;

const HOOK_NAME = "the hook onClose";

export class CloseHooks {
  readonly #hooks = new Set<CloseHook>();
  #running: Promise<void> | undefined;

  add(hook: CloseHook): void {
    this.#hooks.add(hook);
  }

  /**
   * Calls each callback once, and waits for their promises, at most for the given time in milliseconds. A second call waits
   * for the same promises. Never rejects: errors are printed.
   */
  run(maxMs: number): Promise<unknown> | undefined {
    const running = [...this.#hooks].flatMap((hook) => call(hook) ?? []);
    this.#hooks.clear();
    if (running.length > 0) this.#running = Promise.all([this.#running, ...running]).then(() => {});
    return this.#running && settledWithin(this.#running, maxMs);
  }
}

/** Calls a callback. Returns its promise, if there is one, which never rejects. */
function call(hook: CloseHook): Promise<void> | undefined {
  let result: unknown;
  callHook(HOOK_NAME, () => {
    result = hook();
  });
  return result instanceof Promise ? result.catch((reason: unknown) => reportFailure(HOOK_NAME, reason)) : undefined;
}
