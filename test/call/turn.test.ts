/** Messages of all calls share the turns of the event loop. */
import { beforeEach, expect, it, vi } from "vitest";
import { isTurnOver, takeTurn } from "../../runtime/src/call/turn.ts";

const BYTES_PER_TURN = 131_072;
const MESSAGE_BYTES = 64;

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Fills a turn, so that each test begins with the next one. */
beforeEach(async () => {
  while (takeTurn(BYTES_PER_TURN) === undefined);
  await nextTurn();
});

/** Decodes messages of the given sizes, each of another call, and returns their numbers by turns. */
async function turnsOf(sizes: readonly number[]): Promise<number[][]> {
  const turns: number[][] = [[]];
  const waits: Promise<void>[] = [];
  let left = sizes.length;
  const decoded = (index: number): void => {
    turns.at(-1)?.push(index);
    left--;
  };
  for (const [index, size] of sizes.entries()) {
    const turn = takeTurn(size);
    if (turn === undefined) decoded(index);
    else waits.push(turn.then(() => decoded(index)));
  }
  for (let i = 0; left > 0 && i < sizes.length; i++) {
    turns.push([]);
    await nextTurn();
  }
  await Promise.all(waits);
  return turns.filter((turn) => turn.length > 0);
}

it("2,048 messages without bytes are decoded in a turn, and half as many in one that begins with messages that wait", async () => {
  await nextTurn();
  const turns = await turnsOf(Array<number>(5_000).fill(0));
  expect(turns.flat()).toEqual(Array.from({ length: 5_000 }, (_, i) => i));
  const all = BYTES_PER_TURN / MESSAGE_BYTES;
  expect(turns.map((turn) => turn.length)).toEqual([all, all / 2, all / 2, 5_000 - 2 * all]);
});

it.each([
  [1_048_576, 1],
  [BYTES_PER_TURN - MESSAGE_BYTES, 1],
  [BYTES_PER_TURN / 2, 1],
  [16_384, 4],
])("messages of %j bytes that wait are decoded in their order, %j in a turn", async (size, each) => {
  const turns = await turnsOf(Array<number>(40).fill(size));
  expect(turns.flat()).toEqual(Array.from({ length: 40 }, (_, i) => i));
  expect(Math.max(...turns.map((turn) => turn.length))).toBe(each);
});

it("a turn is over when messages have used it up, and not yet when those that waited have had their half", async () => {
  await nextTurn();
  expect(isTurnOver()).toBe(false);
  const waits = Array.from({ length: 3 }, () => takeTurn(BYTES_PER_TURN / 2));
  expect(isTurnOver()).toBe(true);
  await Promise.all([nextTurn(), waits[2]]);
  expect(isTurnOver()).toBe(false);
});

it("a message that arrives while others wait is decoded after them", async () => {
  const order: string[] = [];
  const decode = async (name: string): Promise<void> => {
    const turn = takeTurn(BYTES_PER_TURN);
    if (turn !== undefined) await turn;
    order.push(name);
  };
  const first = ["a", "b", "c", "d"].map(decode);
  await nextTurn();
  await Promise.all([...first, decode("e")]);
  expect(order).toEqual(["a", "b", "c", "d", "e"]);
});

it("turns go on under fake timers, and after them", async () => {
  vi.useFakeTimers();
  try {
    for (let i = 0; i < 3; i++) await takeTurn(BYTES_PER_TURN);
  } finally {
    vi.useRealTimers();
  }
  for (let i = 0; i < 3; i++) await takeTurn(BYTES_PER_TURN);
});
