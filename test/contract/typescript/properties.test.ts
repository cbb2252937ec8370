/**
 * Properties of generated conversions, for types and values at random: valid values are kept, and JSON is accepted exactly
 * if ajv accepts it by the JSON Schema of the type.
 */
import { isDeepStrictEqual } from "node:util";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc, { type Arbitrary } from "fast-check";
import { describe, expect, it } from "vitest";
import { Shop_echo } from "../../../fixtures/contract/gen/shop_triple.ts";
import { type JsonSchema, jsonSchema } from "../../../src/contract/typescript/json-schema.ts";
import { converter } from "../../../src/contract/typescript/wire-code.ts";
import type { NamedType, ValueRules, WireField, WireType } from "../../../src/contract/typescript/wire-type.ts";
import * as t from "../../../src/triple-contract.ts";
import { everything } from "./shop.ts";

interface Conversions {
  toJson(value: unknown): unknown;
  fromJson(json: unknown): unknown;
}

/** A tree: the only type at random that contains itself. */
const tree: NamedType = { name: "Tree", comment: [], type: { kind: "boolean" } };
const TREE: WireType = { kind: "named", shape: tree };
const field = (name: string, type: WireType, isOptional = false): WireField => ({
  name,
  type,
  isOptional,
  comment: [],
});
tree.type = {
  kind: "object",
  fields: [
    field("value", { kind: "bigint" }),
    field("children", { kind: "array", item: TREE, rules: { max: 2 } }),
    field("left", TREE, true),
  ],
};

const NAMES = ["a", "b", "constructor", "toString", "with-dash", "ü", "0"];

const limits = (top: number): Arbitrary<ValueRules> =>
  fc
    .tuple(fc.option(fc.nat(top), { nil: undefined }), fc.option(fc.nat(top), { nil: undefined }))
    .map(([min, more]) => ({
      ...(min !== undefined && { min }),
      ...(more !== undefined && { max: (min ?? 0) + more }),
    }));

const strings: Arbitrary<WireType> = fc.oneof(
  limits(4).map((rules): WireType => ({ kind: "string", rules })),
  fc
    .constantFrom("^[a-c]{1,3}$", "^[A-Za-z][A-Za-z0-9+.-]*:\\S+$", "^\\d{2}$")
    .map((pattern): WireType => ({ kind: "string", rules: { pattern } })),
);
const numbers: Arbitrary<WireType> = fc
  .tuple(limits(5), fc.boolean())
  .map(([rules, int]): WireType => ({ kind: "number", rules: int ? { ...rules, int } : rules }));
const simple = fc.constantFrom<WireType>(
  { kind: "boolean" },
  { kind: "bigint" },
  { kind: "date" },
  { kind: "bytes" },
  TREE,
);
const constants = fc
  .uniqueArray(fc.constantFrom("RED", "GREEN", "", "__proto__"), { minLength: 1 })
  .map((values): WireType => ({ kind: "constant", values }));

const { type: types } = fc.letrec<{ type: WireType; object: WireType }>((tie) => ({
  type: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    strings,
    numbers,
    simple,
    constants,
    fc.tuple(tie("type"), limits(2)).map(([item, rules]): WireType => ({ kind: "array", item, rules })),
    fc.array(tie("type"), { maxLength: 3 }).map((items): WireType => ({ kind: "tuple", items })),
    tie("type").map((value): WireType => ({ kind: "record", value })),
    fc
      .tuple(fc.constantFrom("string" as const, "number" as const, "bigint" as const), tie("type"))
      .map(([key, value]): WireType => ({ kind: "map", key, value })),
    tie("object"),
    fc.tuple(strings, numbers, tie("object")).map(
      ([string, number, object]): WireType => ({
        kind: "union",
        types: new Map<"string", WireType>([
          ["string", string],
          ["number" as never, number],
          ["object" as never, object],
          ["null" as never, { kind: "constant", values: [null] }],
        ]),
      }),
    ),
    fc.tuple(tie("type"), tie("type")).map(([one, other]): WireType => {
      const member = (tag: string, type: WireType): WireType => ({
        kind: "object",
        fields: [field("kind", { kind: "constant", values: [tag] }), field("value", type)],
      });
      return {
        kind: "tagged",
        tag: "kind",
        types: [
          ["one", member("one", one)],
          ["other", member("other", other)],
        ],
      };
    }),
  ),
  object: fc
    .uniqueArray(fc.tuple(fc.constantFrom(...NAMES), tie("type"), fc.boolean()), {
      selector: ([name]) => name,
      maxLength: 3,
    })
    .map(
      (fields): WireType => ({
        kind: "object",
        fields: fields.map(([name, type, isOptional]) => field(name, type as WireType, isOptional)),
      }),
    ),
}));

/** Returns the values of a type. */
function valuesOf(type: WireType, depth = 0): Arbitrary<unknown> {
  const of = (inner: WireType): Arbitrary<unknown> => valuesOf(inner, depth + 1);
  const entries = (keys: Arbitrary<unknown>, value: WireType): Arbitrary<[unknown, unknown][]> =>
    fc.uniqueArray(fc.tuple(keys, of(value)), { selector: ([key]) => key, maxLength: 2 });
  switch (type.kind) {
    case "string": {
      const { min = 0, max = min + 5, pattern } = type.rules;
      if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
      return fc
        .array(fc.constantFrom("a", "\u{1f600}", "\u0000", "ß"), { minLength: min, maxLength: max })
        .map((all) => all.join(""));
    }
    case "number": {
      const { min = -9, max = Math.max(min, 0) + 9, int } = type.rules;
      const integers = fc.integer({ min, max });
      return int
        ? integers
        : fc.oneof(
            integers,
            fc.double({ min, max, noNaN: true }).map((value) => value + 0),
          );
    }
    case "boolean":
      return fc.boolean();
    case "bigint":
      return fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });
    case "date":
      return fc.date({
        min: new Date("0000-01-01T00:00:00Z"),
        max: new Date("9999-12-31T23:59:59.999Z"),
        noInvalidDate: true,
      });
    case "bytes":
      return fc.uint8Array({ maxLength: 5 });
    case "constant":
      return fc.constantFrom(...type.values);
    case "array": {
      const { min = 0, max = min + 2 } = type.rules;
      return fc.array(of(type.item), { minLength: min, maxLength: depth > 6 ? min : max });
    }
    case "tuple":
      return fc.tuple(...type.items.map(of));
    case "record":
      return entries(fc.constantFrom("__proto__", "a", "constructor", ""), type.value).map((all) =>
        Object.fromEntries(all as [string, unknown][]),
      );
    case "map": {
      const keys = { string: fc.string({ maxLength: 3 }), number: fc.integer(), bigint: fc.bigInt() }[type.key];
      return entries(keys as Arbitrary<unknown>, type.value).map((all) => new Map(all));
    }
    case "object":
      return fc
        .tuple(
          ...type.fields.map(({ type: inner, isOptional }) =>
            isOptional ? (depth > 4 ? fc.constant(undefined) : fc.option(of(inner), { nil: undefined })) : of(inner),
          ),
        )
        .map((all) =>
          Object.fromEntries(
            all.flatMap((value, index) => (value === undefined ? [] : [[type.fields[index]?.name, value]])),
          ),
        );
    case "union":
      return fc.oneof(...Array.from(type.types.values(), of));
    case "tagged":
      return fc.oneof(...type.types.map(([, inner]) => of(inner)));
    case "named":
      return depth > 4 ? fc.constant({ value: 0n, children: [] }) : of(type.shape.type);
  }
}

/** Compiles the printed conversion of a type. */
function conversionOf(type: WireType): Conversions {
  const nameOf = ({ name }: NamedType): string => `convert${name}`;
  const code = `const convertTree = ${converter(tree.type, nameOf)}; return t.message("it", ${converter(type, nameOf)});`;
  return new Function("t", code)(t);
}

const ajv = new Ajv2020({ strict: false, validateFormats: false, ownProperties: true });

function judgeOf(type: WireType): (json: unknown) => boolean {
  const refer = ({ name }: NamedType): JsonSchema => ({ $ref: `#/$defs/${name}` });
  const schema = { ...jsonSchema(type, refer), $defs: { Tree: jsonSchema(tree.type, refer) } };
  const validate = ajv.compile(schema);
  return (json) => validate(json) as boolean;
}

const JSON_VALUES: readonly unknown[] = [
  null,
  true,
  0,
  1.5,
  -7,
  1e300,
  "",
  "x",
  "abc",
  "RED",
  "-0",
  "007",
  "12",
  "QQ==",
  "QQ=",
  "2026-01-31T10:00:00Z",
  "2026-13-01T10:00:00Z",
  "2026-01-31",
  [],
  [1],
  ["x", "y", "z"],
  {},
  { kind: "one" },
  { kind: "other", value: 1 },
  { value: "1", children: [] },
  { "1x": 1 },
];

/** Changes one place of JSON: another value, one that is absent, or one that is additional. */
function mutate(json: unknown, picks: readonly number[]): unknown {
  const [pick = 0, ...others] = picks;
  const isContainer = typeof json === "object" && json !== null;
  const keys = isContainer ? Object.keys(json) : [];
  const key = keys[pick % (keys.length + 1)];
  if (key === undefined || others.length === 0) {
    const value = JSON_VALUES[pick % JSON_VALUES.length];
    if (!isContainer || pick % 3 !== 0) return value;
    return Array.isArray(json) ? [...json, value] : { ...json, [NAMES[pick % NAMES.length] as string]: value };
  }
  if (Array.isArray(json)) {
    if (pick % 7 === 0) return json.filter((_, index) => String(index) !== key);
    return json.map((one, index) => (String(index) === key ? mutate(one, others) : one));
  }
  const entries = Object.entries(json as object);
  if (pick % 7 === 0) return Object.fromEntries(entries.filter(([name]) => name !== key));
  return Object.fromEntries(entries.map(([name, one]) => [name, name === key ? mutate(one, others) : one]));
}

function accepts({ fromJson }: Conversions, json: unknown): boolean {
  try {
    fromJson(json);
    return true;
  } catch (error) {
    if (error instanceof t.ContractError) return false;
    throw error;
  }
}

const typed = types.chain((type) =>
  fc.tuple(
    fc.constant(type as WireType),
    fc.array(valuesOf(type as WireType), { minLength: 1, maxLength: 4 }),
    fc.array(fc.array(fc.nat(1000), { minLength: 1, maxLength: 5 }), { minLength: 10, maxLength: 20 }),
  ),
);

describe("the conversion of a type", () => {
  it("keeps values, and accepts what ajv accepts by its JSON Schema", () => {
    const outcomes = { accepted: 0, refused: 0 };
    fc.assert(
      fc.property(typed, ([type, values, mutations]) => {
        const conversion = conversionOf(type);
        const judge = judgeOf(type);
        for (const value of values) {
          const json = JSON.parse(JSON.stringify(conversion.toJson(value)));
          expect(judge(json)).toBe(true);
          const back = conversion.fromJson(json);
          if (!isDeepStrictEqual(back, value)) expect(back).toEqual(value);
          for (const picks of mutations) {
            const mutated = mutate(json, picks);
            const isValid = judge(mutated);
            if (accepts(conversion, mutated) !== isValid) {
              expect.fail(
                `${JSON.stringify(mutated)} is ${isValid ? "refused" : "accepted"}: ${converter(type, ({ name }) => name)}`,
              );
            }
            outcomes[isValid ? "accepted" : "refused"]++;
          }
        }
      }),
      { numRuns: 400 },
    );
    expect(Math.min(outcomes.accepted, outcomes.refused)).toBeGreaterThan(1_000);
  });

  it("keeps the values of the fixture", () => {
    const { request } = Shop_echo.payload as { request: Conversions };
    expect(request.fromJson(JSON.parse(JSON.stringify(request.toJson(everything))))).toEqual(everything);
  });

  it("refuses days that their months do not have", () => {
    const { fromJson } = conversionOf({ kind: "date" });
    for (const text of ["0000-02-29T00:00:00Z", "2024-02-29T23:59:59+23:59", "9999-12-31T00:00:00-01:00"]) {
      expect(fromJson(text)).toEqual(new Date(text));
    }
    for (const text of ["2026-02-29T00:00:00Z", "2026-02-31T00:00:00Z", "2026-04-31T00:00:00+01:00"]) {
      expect(() => fromJson(text)).toThrow("it must be a string with a date-time of RFC 3339");
    }
  });

  it("refuses values that are not of its type before they are sent", () => {
    const json = (type: WireType, value: unknown): unknown => conversionOf(type).toJson(value);
    expect(() => json({ kind: "number", rules: {} }, Number.NaN)).toThrow("it must be a finite number");
    expect(() => json({ kind: "number", rules: {} }, Number.POSITIVE_INFINITY)).toThrow("it must be a finite number");
    expect(() => json({ kind: "date" }, new Date(Number.NaN))).toThrow("it must be a Date of the years 0 to 9999");
    expect(() => json({ kind: "date" }, new Date(8.64e15))).toThrow("it must be a Date of the years 0 to 9999");
    expect(() => json({ kind: "bigint" }, 1)).toThrow("it must be a bigint");
    expect(() => json({ kind: "bytes" }, [1])).toThrow("it must be a Uint8Array");
    expect(() => json({ kind: "map", key: "number", value: { kind: "boolean" } }, new Map([[0.5, true]]))).toThrow(
      'it must not have the key "0.5"',
    );
    expect(() => json({ kind: "array", item: { kind: "boolean" }, rules: {} }, [true, undefined])).toThrow(
      "it[1] is missing",
    );
    expect(() => json({ kind: "record", value: { kind: "boolean" } }, { "a b": 1 })).toThrow(
      'it["a b"] must be a boolean',
    );
  });
});
