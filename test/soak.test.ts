/**
 * A small soak, which shows that calls end and leave nothing open. Only the whole soak shows whether memory is constant.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { fitSlope, isFlat, type Sample } from "./soak/slope.ts";
import { compiled } from "./support/compiled.ts";

it("a small soak ends with the expected result of every call and no running handler", async () => {
  const program = ["--expose-gc", compiled("test/soak/main.ts"), `--server=${compiled("test/soak/server.ts")}`];
  const child = spawn(process.execPath, [...program, "--unary=4000", "--streams=400", "--cancelled=400", "--looks=8"]);
  const output = child.stdout.toArray();
  const errors = child.stderr.toArray();
  await once(child, "close");
  expect(String(Buffer.concat(await errors))).toBe("");
  const lines = String(Buffer.concat(await output)).split("\n");
  expect(lines.filter((line) => /^unary +4000 /.test(line))).toHaveLength(1);
  expect(lines.filter((line) => /^streams +400 /.test(line))).toHaveLength(1);
  expect(lines.filter((line) => /^cancelled +400 /.test(line))).toHaveLength(1);
  expect(lines.filter((line) => /: (NOT )?(flat|FLAT)$/.test(line))).toHaveLength(6);
});

describe("memory", () => {
  /** Samples of a process that leaks the given number of bytes per call, with the noise of garbage collections. */
  function samples(bytesPerCall: number): Sample[] {
    return Array.from({ length: 10 }, (_, i) => ({
      calls: i * 50_000,
      bytes: 13_000_000 + i * 50_000 * bytesPerCall + ((i * 7) % 10) * 20_000,
    }));
  }

  it("that a line fits has its slope", () => {
    const exact = Array.from({ length: 5 }, (_, i) => ({ calls: i * 10, bytes: 100 + i * 30 }));
    expect(fitSlope(exact)).toEqual({ bytesPerCall: 3, margin: 0 });
  });

  it("is flat if it oscillates", () => {
    expect(isFlat(fitSlope(samples(0)))).toBe(true);
  });

  it.each([16, 24, 200])("is not flat if a call leaks %i bytes", (bytes) => {
    expect(isFlat(fitSlope(samples(bytes)))).toBe(false);
  });

  it("is not reported as flat if the samples are inconclusive", () => {
    const wild = [0, 1, 0, 1, 0, 1].map((up, i) => ({ calls: i, bytes: up * 1e6 }));
    expect(isFlat(fitSlope(wild))).toBe(false);
    expect(() => fitSlope(wild.slice(0, 3))).toThrow(RangeError);
  });
});
