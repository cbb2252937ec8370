/** The waits of exponential backoff: their growth, bounds, jitter and restart. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { Backoff, type BackoffOptions } from "../../runtime/src/call/backoff.ts";

/** Returns the first waits, in whole milliseconds. */
function waits(count: number, options: BackoffOptions, random = 0.5): number[] {
  vi.spyOn(Math, "random").mockReturnValue(random);
  const backoff = new Backoff(options);
  return Array.from({ length: count }, () => Math.round(backoff.next()));
}

afterEach(() => void vi.restoreAllMocks());

describe("exponential backoff", () => {
  it("has the first wait and the multiplier of gRPC", () => {
    expect(waits(5, { maxMs: 4_000 })).toEqual([1_000, 1_600, 2_560, 4_000, 4_000]);
  });

  it("waits longer or shorter by up to a fifth, of the bound too", () => {
    const options = { initialMs: 100, maxMs: 500, multiplier: 3 };
    expect(waits(4, options)).toEqual([100, 300, 500, 500]);
    expect(waits(4, options, 0)).toEqual([80, 240, 400, 400]);
    expect(waits(4, options, 1)).toEqual([120, 360, 600, 600]);
  });

  it("does not exceed the bound with the first wait", () => {
    expect(waits(2, { initialMs: 1_000, maxMs: 300 })).toEqual([300, 300]);
  });

  it("follows a multiplier below 1, from the first wait without the bound", () => {
    expect(waits(4, { initialMs: 1_000, maxMs: 500, multiplier: 0.5 })).toEqual([500, 500, 250, 125]);
  });

  it("stays finite", () => {
    expect(waits(5_000, { maxMs: 50 }).at(-1)).toBe(50);
  });

  it("keeps to the bound of one wait, jitter included, and grows from there", () => {
    for (const [random, bounded, last] of [
      [0, 500, 640],
      [1, 400, 960],
    ] as const) {
      vi.spyOn(Math, "random").mockReturnValue(random);
      const backoff = new Backoff({ maxMs: 10_000 });
      for (let i = 0; i < 4; i++) backoff.next();
      expect(backoff.next(500)).toBe(bounded);
      expect(Math.round(backoff.next())).toBe(last);
    }
  });

  it("begins again after a reset", () => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const backoff = new Backoff({ initialMs: 200, maxMs: 3_000 });
    for (let i = 0; i < 10; i++) backoff.next();
    backoff.reset();
    expect([backoff.next(), backoff.next()]).toEqual([200, 320]);
  });
});
