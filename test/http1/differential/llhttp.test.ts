/** The engine and llhttp: a sample of the campaign of `main.ts`. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { dialogues, isAsStrict, parseWithEngine } from "./llhttp.ts";

it("the engine receives no request that llhttp does not receive", async () => {
  await fc.assert(
    fc.asyncProperty(dialogues, async (text) => {
      expect([text, await isAsStrict(text)]).toEqual([text, true]);
    }),
    { numRuns: 500 },
  );
});

it("the sample contains requests that are served", () => {
  const served = fc.sample(dialogues, { numRuns: 500, seed: 1 }).filter((text) => parseWithEngine(text).length > 0);
  expect(served.length).toBeGreaterThan(50);
});
