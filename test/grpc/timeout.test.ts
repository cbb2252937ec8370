/** The header grpc-timeout: its grammar, and rounding that never shortens a timeout. */
import fc from "fast-check";
import { Code } from "triple-es";
import { describe, expect, it } from "vitest";
import { formatTimeout, parseTimeout } from "../../runtime/src/grpc/headers.ts";
import { grpcRequest, routeGreeter } from "../support/greeter.ts";
import { greeter } from "../support/server.ts";

const GRAMMAR = /^[0-9]{1,8}[HMSmun]$/;
const UNITS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 0.001, n: 0.000001 };

describe("a timeout that is read", () => {
  it("is digits and a unit", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 99_999_999 }), fc.constantFrom(...Object.keys(UNITS)), (value, unit) => {
        expect(parseTimeout(`${value}${unit}`)).toBe(value * (UNITS[unit] as number));
      }),
    );
  });

  it.each([
    ["1H", 3_600_000],
    ["2M", 120_000],
    ["3S", 3000],
    ["4m", 4],
    ["5u", 0.005],
    ["6n", 0.000006],
    ["3000m", 3000],
    ["0n", 0],
    ["00000001S", 1000],
    ["99999999H", 359_999_996_400_000],
    [undefined, undefined],
  ])("%s is %s ms", (value, ms) => {
    if (ms === undefined) expect(parseTimeout(value)).toBeUndefined();
    else expect(parseTimeout(value)).toBeCloseTo(ms, 9);
  });

  it("is nothing else", () => {
    const complement = fc
      .oneof(
        fc.string(),
        fc.string({ unit: fc.constantFrom(..."0123456789HMSmun .-+") }),
        fc.constantFrom(
          "",
          "1",
          "S",
          "1x",
          "123456789S",
          "1 S",
          "1S ",
          "-1S",
          "1.5S",
          "1s",
          "1h",
          "1m, 1m",
          "null",
          "１S",
        ),
      )
      .filter((value) => !GRAMMAR.test(value));
    fc.assert(
      fc.property(complement, (value) => {
        expect(() => parseTimeout(value)).toThrow(expect.objectContaining({ code: Code.InvalidArgument }));
      }),
    );
  });
});

describe("a timeout that is written", () => {
  it("has at most 8 digits, and is never shorter than requested nor much longer", () => {
    const durations = fc.oneof(
      fc.double({ min: 0, max: 1e4, noNaN: true }),
      fc.double({ min: 0, max: 1e15, noNaN: true }),
      fc.integer({ min: 99_999_990, max: 100_000_010 }),
      fc.integer({ min: 99_999_999_000 - 10, max: 99_999_999_000 + 2000 }),
    );
    fc.assert(
      fc.property(durations, (ms) => {
        const value = formatTimeout(ms);
        expect(value).toMatch(GRAMMAR);
        const read = parseTimeout(value) as number;
        const longest = 99_999_999 * 3_600_000;
        expect(read).toBeGreaterThanOrEqual(Math.min(ms, longest));
        expect(read - Math.min(ms, longest)).toBeLessThanOrEqual(Math.max(1, ms * 0.001));
      }),
    );
  });

  it.each([
    [0, "0m"],
    [0.1, "1m"],
    [3000, "3000m"],
    [99_999_999, "99999999m"],
    [100_000_000, "100000S"],
    [100_000_000_000, "27778H"],
    [Number.MAX_VALUE, "99999999H"],
  ])("of %d ms is %s", (ms, value) => {
    expect(formatTimeout(ms)).toBe(value);
  });
});

describe("a request with a timeout", () => {
  async function outcome(timeout: string | undefined): Promise<[string | undefined, number | undefined]> {
    let left: number | undefined;
    const { exchange } = routeGreeter({
      greet: (request, context) => {
        left = context.timeoutMs();
        return greeter.greet(request, context);
      },
    });
    const answer = await exchange(grpcRequest({ headers: { "grpc-timeout": timeout } }));
    return [answer.trailers.get("grpc-status") ?? answer.headers.get("grpc-status"), left];
  }

  it("gives the handler the remaining time", async () => {
    const [status, left] = await outcome("3000m");
    expect(status).toBe("0");
    expect(left).toBeGreaterThan(2000);
    expect(left).toBeLessThanOrEqual(3000);
  });

  it.each(["99999999H", undefined])("of %s is answered", async (timeout) => {
    expect((await outcome(timeout))[0]).toBe("0");
  });

  it.each([
    ["0n", "4"],
    ["1x", "3"],
    ["123456789S", "3"],
  ])("of %s fails with %s before the handler runs", async (timeout, status) => {
    expect(await outcome(timeout)).toEqual([status, undefined]);
  });
});
