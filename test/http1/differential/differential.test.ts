/** The engine and llhttp: a sample of the campaign of `main.ts`, and the comparison itself. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { knownDifference } from "./differences.ts";
import { isSameInChunks, verdictOf } from "./engine.ts";
import { parseWithLlhttp } from "./llhttp.ts";
import { INPUTS, type Input, VARIANTS } from "./messages.ts";
import { shrink } from "./shrink.ts";
import { compare, type Message, type Verdict } from "./verdict.ts";

/** Fails if the engine accepts a message that llhttp refuses or frames in another way, or depends on chunks. */
function check(input: Input): void {
  const own = verdictOf(input);
  expect([input, isSameInChunks(input, own)]).toEqual([input, true]);
  const difference = compare(own, parseWithLlhttp(input));
  if (difference !== undefined && knownDifference("llhttp", difference, input) === undefined) {
    expect([input, difference]).toBeUndefined();
  }
}

it("the engine accepts no known variant that llhttp refuses or frames in another way", () => {
  for (const [, input] of VARIANTS) check(input);
});

it.each(["request", "response"] as const)("the engine accepts no mutated %s that llhttp does not accept", (role) => {
  let accepted = 0;
  fc.assert(
    fc.property(INPUTS[role], (input) => {
      check(input);
      if (verdictOf(input).messages.length > 0) accepted++;
    }),
    { numRuns: 1_000 },
  );
  expect(accepted).toBeGreaterThan(200);
});

const input: Input = {
  role: "request",
  isHead: false,
  text: "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n",
  ends: [],
};
const verdict = parseWithLlhttp(input);
const [first, second] = verdict.messages as [Message, Message];
const others: readonly [kind: string | undefined, other: Verdict][] = [
  [undefined, verdict],
  ["refused", { messages: [first], isRefused: true }],
  ["incomplete", { messages: [first], isRefused: false }],
  ["incomplete", { messages: [first, { ...second, isWhole: false }], isRefused: false }],
  ["line", { ...verdict, messages: [first, { ...second, line: ["GET", "/other", "1"] }] }],
  ["fields", { ...verdict, messages: [{ ...first, fields: ["host", "b"] }, second] }],
  ["body", { ...verdict, messages: [{ ...first, body: "ab" }, second] }],
  ["end", { ...verdict, messages: [{ ...first, end: first.end - 1 }, second] }],
];

it.each(others)("a verdict with another message is found (%s)", (kind, other) => {
  expect(verdictOf(input).messages).toEqual(verdict.messages);
  expect(compare(verdict, other)?.kind).toBe(kind);
});

it("a finding is shrunk to the bytes that it needs", async () => {
  const small = await shrink(input, async (candidates) => candidates.find(({ text }) => text.includes("abc")));
  expect(small.text).toBe("abc");
});
