/** The selection of a compression by the preferences of the peer. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Compression,
  createNegotiation,
  encodingList,
  findCompression,
} from "../../runtime/src/codec/compression.ts";

const named = (name: string): Compression => ({ name, compress: (bytes) => bytes, decompress: (bytes) => bytes });
const ours = [named("gzip"), named("br"), named("deflate")];

const choose = (wishes: string | undefined): string | undefined => createNegotiation(ours)(wishes)?.name;

describe("negotiation", () => {
  it.each([
    // One preference
    ["gzip", "gzip"],
    ["br", "br"],
    ["GZIP", "gzip"],
    ["  br  ", "br"],
    ["zstd", undefined],
    ["identity", undefined],
    ["", undefined],
    [",,", undefined],
    // Ties are resolved by the order of the receiver
    ["deflate, br, gzip", "gzip"],
    ["br,deflate", "br"],
    ["bzip2,gzip,snappy", "gzip"],
    ["deflate;q=0.5, br;q=0.5", "br"],
    // Quality values
    ["gzip;q=0.5, br", "br"],
    ["gzip;q=0.5, br;q=0.8, deflate;q=0.9", "deflate"],
    ["gzip ; q=0.1 , br ; Q=0.2", "br"],
    ["gzip;level=9;q=0.1, br;q=0.2", "br"],
    ["gzip;q=0", undefined],
    ["gzip;q=0.000", undefined],
    ["gzip;q=1.000", "gzip"],
    // The wildcard stands for all names that are not listed
    ["*", "gzip"],
    ["gzip;q=0, *", "br"],
    ["*;q=0.5, deflate", "deflate"],
    ["*;q=0", undefined],
    ["br;q=0.1, *;q=0", "br"],
    // Identity is selected only if it has a higher quality value
    ["gzip, identity", "gzip"],
    ["identity;q=1, gzip;q=0.9", undefined],
    ["identity;q=0.5, gzip;q=0.9", "gzip"],
    ["identity;q=0", undefined],
    ["identity;q=0, *;q=0", undefined],
    // Invalid preferences
    ["gzip;q=2", undefined],
    ["gzip;q=-1", undefined],
    ["gzip;q=high, br", "br"],
    ["gzip;q=, br;q=0.1", "br"],
    ["gzip;q=0x1, br;q=0.1", "br"],
    ["gzip;q=1e0, br;q=0.1", "br"],
    ["gzip;q=+1, br;q=0.1", "br"],
    ["gzip;q=.5, br;q=.6", "br"],
    ["gzip; q = 0.5, br; q = 0.6", "br"],
  ])("answers %j with %s", (wishes, expected) => {
    expect(choose(wishes)).toBe(expected);
  });

  it("does not compress for a peer that accepts no compression", () => {
    expect(choose(undefined)).toBeUndefined();
  });

  it("has nothing to offer without compressions", () => {
    expect(createNegotiation([])("gzip, *")).toBeUndefined();
  });

  it("has the same result again", () => {
    const negotiate = createNegotiation(ours);
    for (const wishes of ["br", "zstd", "br", "zstd", "*", "br"]) {
      expect(negotiate(wishes)?.name).toBe(choose(wishes));
    }
  });

  it("distinguishes lists even after more of them than its cache holds", () => {
    const negotiate = createNegotiation(ours);
    for (let i = 0; i < 1000; i++) {
      expect(negotiate(`x${i}, ${ours[i % 3]?.name}`)).toBe(ours[i % 3]);
    }
  });

  it("never throws, and selects a supported one for any preferences", () => {
    const pieces = fc.constantFrom(
      "gzip",
      "br",
      "*",
      "identity",
      ";",
      "q=",
      "Q=",
      "0.5",
      "1",
      ",",
      " ",
      "=",
      "\t",
      "é",
      "",
    );
    const hostile = fc.oneof(
      fc.string(),
      fc.array(pieces, { maxLength: 200 }).map((all) => all.join("")),
    );
    fc.assert(
      fc.property(hostile, (wishes) => {
        const choice = createNegotiation(ours)(wishes);
        expect(choice === undefined || ours.includes(choice)).toBe(true);
      }),
    );
  });

  it("selects the better of two preferences for any qualities", () => {
    const quality = fc.integer({ min: 1, max: 1000 }).map((thousandths) => thousandths / 1000);
    fc.assert(
      fc.property(quality, quality, (gzip, br) => {
        expect(choose(`br;q=${br.toFixed(3)},gzip;q=${gzip.toFixed(3)}`)).toBe(br > gzip ? "br" : "gzip");
      }),
    );
  });

  it("reads only the first preferences of an endless list", () => {
    const many = (count: number): string => `${"x,".repeat(count)}gzip`;
    expect(choose(many(31))).toBe("gzip");
    expect(choose(many(32))).toBeUndefined();
    expect(choose(many(1_000_000))).toBeUndefined();
    expect(choose(`gzip${";".repeat(1_000_000)}`)).toBe("gzip");
  });
});

describe("a list of compressions", () => {
  it("is found by name and listed in order", () => {
    expect(findCompression(ours, "br")).toBe(ours[1]);
    expect(findCompression(ours, "zstd")).toBeUndefined();
    expect(encodingList(ours, ", ")).toBe("gzip, br, deflate");
    expect(encodingList([], ",")).toBe("");
  });
});
