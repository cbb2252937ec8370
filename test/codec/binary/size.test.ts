/** Limits on what generated codecs import. `npm run size` prints it. */
import { describe, expect, it } from "vitest";
import { CODEC_FILES, codecRuntimeBytes } from "../../../bench/size/codec-runtime.ts";

describe("the runtime that a generated codec imports, minified", () => {
  it.each(["grpc.health.v1", "the benchmark"] as const)("takes at most 6,000 bytes for %s", async (name) => {
    expect(await codecRuntimeBytes(CODEC_FILES[name])).toBeLessThanOrEqual(6_000);
  });

  it("takes at most 7,500 bytes for all types of fields", async () => {
    expect(await codecRuntimeBytes(CODEC_FILES["all types of fields"])).toBeLessThanOrEqual(7_500);
  });
});
