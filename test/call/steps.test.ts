/** Work in steps: snappy compresses and decompresses large messages in time slices. */
import { expect, it } from "vitest";
import { runAtOnce, runInSteps, type Steps, waitFor } from "../../runtime/src/call/steps.ts";

it("work waits for promises, receives their results and their errors, and pauses in between", async () => {
  function* work(): Steps<string> {
    yield undefined;
    const value = yield* waitFor(Promise.resolve(1));
    try {
      yield* waitFor(Promise.reject(new Error("no")));
    } catch (reason) {
      return `${value} ${(reason as Error).message}`;
    }
    return "";
  }
  expect(await runInSteps(work())).toBe("1 no");
  expect(() => runAtOnce(work())).toThrow("cannot run at once");
  function* failing(): Steps<never> {
    yield undefined;
    throw new Error("late");
  }
  await expect((async () => runInSteps(failing()))()).rejects.toThrow("late");
});
