/** Limits on what generated codecs import. `npm run size` prints it. */
import { describe, expect, it } from "vitest";
import { CODEC_FILES, codecRuntimeBytes } from "../../../bench/size/codec-runtime.ts";

describe("the runtime that a generated codec imports, minified", () => {
  it.each([
    [5_500, "grpc.health.v1"],
    [6_200, "the benchmark"],
    [7_300, "all types of fields"],
  ] as const)("takes at most %i bytes for %s", async (limit, name) => {
    expect(await codecRuntimeBytes(CODEC_FILES[name])).toBeLessThanOrEqual(limit);
  });
});
