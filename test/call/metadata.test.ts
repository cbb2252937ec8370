/** Metadata: its grammar, its bytes, and its copies. */
import { inspect } from "node:util";
import { base64Encode } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import { Code, RpcError } from "triple-es";
import { describe, expect, it } from "vitest";
import { isBinaryValue, Metadata } from "../../runtime/src/call/metadata.ts";

const NAME_CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyz_.-";
const names = fc
  .string({ unit: fc.constantFrom(...NAME_CHARACTERS), minLength: 1, maxLength: 20 })
  .filter((name) => !name.endsWith("-bin") && name !== "__proto__");
const values = fc
  .string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((c) => String.fromCharCode(c)), minLength: 1 })
  .filter((value) => value.trim() === value);

describe("the grammar", () => {
  it("takes every name and value the specification allows", () => {
    fc.assert(
      fc.property(names, values, (name, value) => {
        expect(new Metadata().append(name, value).getAll(name)).toEqual([value]);
      }),
    );
  });

  it.each([" ", " x", "x "])("refuses the value %j, whose spaces HTTP would remove", (value) => {
    expect(() => new Metadata().append("note", value)).toThrow("without space at either end");
  });

  it.each(["", "a b", "a:b", "ä", "a\n", "a\0b", "a/b", ":path", "__proto__", "__PROTO__"])(
    "refuses the name %j",
    (name) => {
      expect(() => new Metadata().append(name, "x")).toThrow(TypeError);
      expect(() => new Metadata([[name, "x"]])).toThrow(TypeError);
    },
  );

  it.each(["", "ä", "a\nb", "a\r\nx: y", "\t", "\x7f", "日本"])("refuses the value %j", (value) => {
    expect(() => new Metadata({ name: value })).toThrow(/printable ASCII/);
  });

  it("leaves the metadata as it was when a field is refused", () => {
    const metadata = new Metadata({ a: "1" });
    expect(() => metadata.append("b", "ä")).toThrow();
    expect([...metadata]).toEqual([["a", "1"]]);
  });

  it("has one name for all spellings", () => {
    const metadata = new Metadata({ "X-User": "a" }).append("x-user", "b");
    expect([...metadata]).toEqual([
      ["x-user", "a"],
      ["x-user", "b"],
    ]);
    expect(metadata.get("X-USER")).toBe("a, b");
    expect(metadata.has("X-User")).toBe(true);
    expect(metadata.delete("X-USER").size).toBe(0);
  });
});

describe("bytes", () => {
  it("are returned as they were set, for any values", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array(), { minLength: 1, maxLength: 5 }), (all) => {
        const metadata = new Metadata(all.map((bytes) => ["trace-bin", bytes] as const));
        expect(metadata.getAllBinary("trace-bin")).toEqual(all);
        expect(metadata.getBinary("Trace-Bin")).toEqual(all[0]);
      }),
    );
  });

  it("are sent unpadded", () => {
    expect(new Metadata({ "a-bin": Uint8Array.of(1) }).get("a-bin")).toBe("AQ");
  });

  it("are read padded, unpadded and joined with commas", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.uint8Array(), fc.boolean()), { minLength: 1, maxLength: 5 }), (parts) => {
        const joined = parts.map(([bytes, padded]) => base64Encode(bytes, padded ? "std" : "std_raw")).join(", ");
        expect(isBinaryValue(joined)).toBe(true);
        expect(Metadata.fromRaw(["a-bin", joined]).getAllBinary("a-bin")).toEqual(parts.map(([bytes]) => bytes));
      }),
    );
  });

  it.each(["A", "A===", "AQ=", "AQ===", "A-_A", "AQ==AQ==", "ä", "AQ AQ"])(
    "are not %j, which is no base64",
    (value) => {
      expect(isBinaryValue(value)).toBe(false);
      expect(() => new Metadata({ "a-bin": value })).toThrow(/base64/);
      expect(() => Metadata.fromRaw(["a-bin", value]).getBinary("a-bin")).toThrow(TypeError);
    },
  );

  it("may be set as base64", () => {
    expect(new Metadata({ "a-bin": "AQ==" }).getBinary("a-bin")).toEqual(Uint8Array.of(1));
  });

  it("need a name that ends in -bin, to be set and to be read", () => {
    expect(() => new Metadata({ a: Uint8Array.of(1) })).toThrow(/-bin/);
    expect(() => new Metadata({ a: "1" }).getBinary("a")).toThrow(/-bin/);
  });

  it("are undefined if they are absent", () => {
    expect(new Metadata().getBinary("a-bin")).toBeUndefined();
  });
});

describe("the list", () => {
  const fields = fc.array(fc.tuple(fc.constantFrom("a", "b", "c.d", "x-y"), values), { maxLength: 30 });

  it("keeps order and repetition", () => {
    fc.assert(
      fc.property(fields, (list) => {
        const metadata = new Metadata(list);
        expect([...metadata]).toEqual(list);
        expect(metadata.size).toBe(list.length);
        for (const name of ["a", "b", "c.d", "x-y"]) {
          const own = list.filter(([one]) => one === name).map(([, value]) => value);
          expect(metadata.getAll(name)).toEqual(own);
          expect(metadata.get(name)).toBe(own.length === 0 ? undefined : own.join(", "));
        }
      }),
    );
  });

  it("is created from records, lists and other metadata", () => {
    const expected = [
      ["a", "1"],
      ["b", "2"],
      ["b", "3"],
    ];
    expect([...new Metadata({ a: "1", none: undefined, b: ["2", "3"] })]).toEqual(expected);
    expect([...new Metadata(new Map([["a", "1"]])).append("b", "2").append("b", "3")]).toEqual(expected);
    expect([...new Metadata(new Metadata(expected as [string, string][]))]).toEqual(expected);
  });

  it("is a copy of its source", () => {
    const original = new Metadata({ a: "1" });
    const copy = new Metadata(original);
    copy.append("b", "2");
    original.set("a", "3");
    expect([...copy]).toEqual([
      ["a", "1"],
      ["b", "2"],
    ]);
  });

  it("can be added to itself", () => {
    const metadata = new Metadata({ a: "1", b: "2" });
    expect([...metadata.appendAll(metadata)].join(" ")).toBe("a,1 b,2 a,1 b,2");
  });

  it("sets one value in place of all", () => {
    const metadata = new Metadata([
      ["a", "1"],
      ["b", "2"],
      ["a", "3"],
    ]).set("A", "4");
    expect([...metadata]).toEqual([
      ["b", "2"],
      ["a", "4"],
    ]);
  });

  it("does not search values for a name", () => {
    const metadata = new Metadata([
      ["a", "b"],
      ["c", "a"],
    ]);
    expect(metadata.get("b")).toBeUndefined();
    expect([...metadata.delete("b")]).toHaveLength(2);
    expect([...metadata.delete("a")]).toEqual([["c", "a"]]);
  });

  it("shares nothing with other metadata that started empty", () => {
    const [one, other] = [new Metadata(), new Metadata()];
    one.append("a", "1");
    expect(other.size).toBe(0);
    expect(new Metadata().size).toBe(0);
  });

  it("copies a list that an engine has received before the first change", () => {
    const received = Object.freeze(["a", "1"]);
    const metadata = Metadata.fromRaw(received);
    expect(metadata.raw).toBe(received);
    expect([...metadata.append("b", "2").append("c", "3").delete("a")]).toHaveLength(2);
    expect(Metadata.fromRaw(received).set("a", "2").raw).toEqual(["a", "2"]);
  });
});

describe("frozen metadata", () => {
  const frozen = new Metadata({ a: "1" }).freeze();

  it.each<[string, () => unknown]>([
    ["append", () => frozen.append("b", "2")],
    ["set", () => frozen.set("a", "2")],
    ["delete", () => frozen.delete("a")],
    ["appendAll", () => frozen.appendAll({ b: "2" })],
    ["appendRaw", () => frozen.appendRaw(["b", "2"])],
  ])("does not %s", (_name, change) => {
    expect(frozen.frozen).toBe(true);
    expect(change).toThrow(/shared/);
    expect([...frozen]).toEqual([["a", "1"]]);
  });

  it("has copies that do", () => {
    expect(new Metadata(frozen).append("b", "2").size).toBe(2);
  });
});

describe("printed metadata", () => {
  const metadata = new Metadata({ "x-note": ["1", "2"], "id-bin": Uint8Array.of(255) });

  it("is a record of its fields in JSON, with values as on the wire, from which metadata can be created", () => {
    const json = JSON.stringify(metadata);
    expect(JSON.parse(json)).toEqual({ "x-note": "1, 2", "id-bin": "/w" });
    expect(new Metadata(JSON.parse(json)).getBinary("id-bin")).toEqual(Uint8Array.of(255));
    expect(JSON.stringify(new Metadata())).toBe("{}");
  });

  it("keeps a received field whose name means something else in objects", () => {
    expect(JSON.stringify(Metadata.fromRaw(["__proto__", "1"]))).toBe('{"__proto__":"1"}');
  });

  it("shows its fields in console.log, also inside an error", () => {
    expect(inspect(metadata)).toBe("{ 'x-note': '1, 2', 'id-bin': '/w' }");
    const error = new RpcError(Code.NotFound, "no such thing", { trailers: metadata });
    expect(inspect(error)).toContain("'x-note': '1, 2'");
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({ trailers: { "x-note": "1, 2" } });
  });
});
