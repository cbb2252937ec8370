/** Waits for a promise, which a signal ends. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { abortError } from "../../runtime/src/call/error.ts";
import { unlessAborted } from "../../runtime/src/call/timer.ts";
import { ConnectionAttempts, ConnectionBackoff } from "../../runtime/src/connection/attempts.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

it("a wait settles as its promise does, or rejects when its signal fires", async () => {
  let resolve = (_text: string): void => {};
  const promise = new Promise<string>((settle) => {
    resolve = settle;
  });
  const [first, second] = [new AbortController(), new AbortController()];
  const waits = [first, second].map(({ signal }) => unlessAborted(promise, signal));
  first.abort();
  await expect(waits[0]).rejects.toEqual(abortError(first.signal));
  resolve("done");
  expect(await waits[1]).toBe("done");
  second.abort();
  expect(await unlessAborted(promise, new AbortController().signal)).toBe("done");
  await expect(unlessAborted(promise, first.signal)).rejects.toEqual(abortError(first.signal));
  const failed = Promise.reject(new Error("no"));
  await expect(unlessAborted(failed, new AbortController().signal)).rejects.toThrow("no");
});

it("a call that gives up is released before the attempt to connect that it waited for ends", async () => {
  const attempts = new ConnectionAttempts(() => new Promise(() => {}), new ConnectionBackoff(0));
  // A call that stays.
  void attempts.ready(undefined, false);
  const giveUp = async (): Promise<WeakRef<AbortSignal>> => {
    const controller = new AbortController();
    const waiting = attempts.ready(controller.signal, false);
    controller.abort();
    await waiting.catch(() => {});
    return new WeakRef(controller.signal);
  };
  const signal = await giveUp();
  const isReleased = (): boolean => {
    collectGarbage();
    return signal.deref() === undefined;
  };
  await expect.poll(isReleased, { timeout: 20_000 }).toBe(true);
});
