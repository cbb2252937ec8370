/** Large bodies of every format are decoded in steps: the event loop runs other work while the server decodes one. */
import { beforeAll, expect, it, vi } from "vitest";
import { ATTACKS, type Attack } from "../../bench/attack/bodies.ts";
import { send } from "../../bench/attack/router.ts";
import { runAtOnce, runInSteps, type Steps, waitFor } from "../../runtime/src/call/steps.ts";
import { encodeInTurn, largeMessages } from "../../runtime/src/call/work-queue.ts";

const BYTES = 600_000;
/** Turns of the event loop: a body that is decoded at once takes two or three. */
const MIN_TURNS = 8;

/** Bodies of which no single value is large. */
const NAMES = [
  "proto, generated codec (B): packed 64-bit integers",
  "proto, protobuf-es (A): packed integers",
  "JSON (A): struct of many keys",
  "form: text, encoded",
  "form: struct as JSON",
  "form: map as JSON",
  "multipart: struct as JSON",
  "multipart: text in windows-1252",
  "XML: text of references",
  "XML: spaces in the root",
  "XML: comments before the root",
  "XML: struct as JSON",
  "gRPC-Web text: bytes",
];

const attackOf = (title: string): Attack =>
  ATTACKS.find(({ format, name }) => `${format}: ${name}` === title) as Attack;

// Each look at the clock takes a millisecond, so that slices end after the same number of steps on every machine.
let now = performance.now();
beforeAll(() => {
  vi.spyOn(performance, "now").mockImplementation(() => {
    now += 1;
    return now;
  });
});

it.each(NAMES)("%s", async (title) => {
  const attack = attackOf(title);
  const body = attack.body(BYTES);
  // Parsers are loaded when the first body arrives.
  await send(attack, attack.body(1_000));
  let turns = 0;
  let done = false;
  const turn = (): void => {
    turns += 1;
    if (!done) setImmediate(turn);
  };
  setImmediate(turn);
  const outcome = await send(attack, body);
  done = true;
  expect(outcome).toBe("ok");
  expect(turns).toBeGreaterThanOrEqual(MIN_TURNS);
});

it("an XML element of many attributes is refused", async () => {
  expect(await send(attackOf("XML: attributes"), attackOf("XML: attributes").body(BYTES))).toContain(
    "the XML has more than 10000 attributes",
  );
});

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

it("large responses are encoded four at a time, in order, also after failures", async () => {
  let running = 0;
  let most = 0;
  const ended: number[] = [];
  function* work(index: number): Steps<number> {
    yield undefined;
    running += 1;
    most = Math.max(most, running);
    for (let i = 0; i < 10; i++) yield* waitFor(new Promise((resolve) => setImmediate(resolve)));
    running -= 1;
    ended.push(index);
    if (index % 3 === 0) throw new Error("no");
    return index;
  }
  const all = Array.from({ length: 20 }, (_, index) => encodeInTurn(work(index)));
  const results = await Promise.allSettled(all);
  expect(results.map(({ status }) => status === "fulfilled")).toEqual(all.map((_, index) => index % 3 !== 0));
  expect(most).toBe(4);
  expect(ended).toEqual(all.map((_, index) => index));
  // biome-ignore lint/correctness/useYield: the work has no steps.
  function* single(): Steps<string> {
    return "at once";
  }
  expect(encodeInTurn(single())).toBe("at once");
});

it("large responses are encoded before large requests are decoded", async () => {
  const order: string[] = [];
  const waitATurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const work = (name: string) => async (): Promise<void> => {
    order.push(name);
    await waitATurn();
  };
  const requests = Array.from({ length: 8 }, () => largeMessages.run(work("decoded"), () => undefined));
  const responses = Array.from({ length: 3 }, () => largeMessages.runUrgent(work("encoded")));
  await Promise.all([...requests, ...responses]);
  // Of the first four slots three are passed to responses, and one to a request.
  expect(order.lastIndexOf("encoded")).toBeLessThan(8);
  expect(order).toHaveLength(11);
});
