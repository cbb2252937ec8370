/** Messages that are decoded in steps share a time slice of each turn of the event loop. */
import { afterEach, expect, it, vi } from "vitest";
import { nextSmallStep, nextStep } from "../../runtime/src/call/time-slice.ts";

const STEP_MS = 0.25;
const STEPS = 40;
/** Time of all steps in a turn: a millisecond, and the rest of the step that is running at its end. */
const MAX_TURN_MS = 1 + STEP_MS;

afterEach(() => vi.restoreAllMocks());

it("several messages together take a millisecond of a turn, and alternate", async () => {
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  const order: number[] = [];
  async function decode(message: number): Promise<number> {
    for (let i = 0; i < STEPS; i++) {
      if (i > 0) await nextStep();
      now += STEP_MS;
      order.push(message);
    }
    return message;
  }
  const turns: number[] = [];
  let last = now;
  let done = false;
  const turn = (): void => {
    turns.push(now - last);
    last = now;
    if (!done) setImmediate(turn);
  };
  setImmediate(turn);
  const results = await Promise.all([0, 1, 2, 3].map(decode));
  done = true;
  expect(results).toEqual([0, 1, 2, 3]);
  // The first step of each message runs when the message arrives, before it can wait for a turn.
  const [first = 0, ...others] = turns;
  expect(first).toBeLessThanOrEqual(4 * STEP_MS + MAX_TURN_MS);
  expect(Math.max(...others)).toBeLessThanOrEqual(MAX_TURN_MS);
  expect(others.length).toBeGreaterThanOrEqual((4 * STEPS * STEP_MS) / MAX_TURN_MS - 2);
  const finished = [0, 1, 2, 3].map((message) => order.lastIndexOf(message));
  expect(Math.max(...finished) - Math.min(...finished)).toBeLessThan(STEPS);
});

it.each([
  [16_384, 1, 19],
  [4_096, 0.5, 4],
])(
  "20 small messages of %j bytes, each of which takes %j ms, wait %j times for a turn",
  async (bytes, ms, expected) => {
    await new Promise((resolve) => setImmediate(resolve));
    let now = 0;
    vi.spyOn(performance, "now").mockImplementation(() => now);
    let waits = 0;
    for (let i = 0; i < 20; i++) {
      const turn = nextSmallStep(bytes);
      if (turn !== undefined) waits++;
      await turn;
      now += ms;
    }
    expect(waits).toBe(expected);
  },
);
