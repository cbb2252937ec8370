/**
 * Properties of generated conversions, for types and values at random: valid values are kept, and JSON is accepted exactly
 * if ajv accepts it by the JSON Schema of the type.
 */
import { isDeepStrictEqual } from "node:util";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Shop_echo } from "../../../fixtures/contract/gen/shop_triple.ts";
import { type JsonSchema, jsonSchema } from "../../../src/contract/typescript/json-schema.ts";
import { converter } from "../../../src/contract/typescript/wire-code.ts";
import type { KeyType, NamedType, WireType } from "../../../src/contract/typescript/wire-type.ts";
import * as t from "../../../src/triple-contract.ts";
import { type Conversions, conversionOf, NAMES, tree, types, valuesOf } from "./random-types.ts";
import { everything } from "./shop.ts";

const ajv = new Ajv2020({ strict: false, validateFormats: false, ownProperties: true });

/** Returns the type as it is read: a field is optional if its type has an empty value. */
function asRead(type: WireType): WireType {
  switch (type.kind) {
    case "object":
      return {
        kind: "object",
        fields: type.fields.map((field) => ({
          ...field,
          type: asRead(field.type),
          isOptional: field.isOptional || hasEmpty(field.type),
        })),
      };
    case "array":
      return { ...type, item: asRead(type.item) };
    case "tuple":
      return { ...type, items: type.items.map(asRead) };
    case "record":
    case "map":
      return { ...type, value: asRead(type.value) };
    case "union":
      return { ...type, types: new Map(Array.from(type.types, ([form, one]) => [form, asRead(one)])) };
    case "tagged":
      return { ...type, types: type.types.map(([tag, one]) => [tag, asRead(one)]) };
    default:
      return type;
  }
}

function hasEmpty(type: WireType): boolean {
  if (type.kind === "array") return (type.rules.min ?? 0) === 0;
  return type.kind === "record" || type.kind === "map" || (type.kind === "union" && type.types.has("null"));
}

function judgeOf(type: WireType): (json: unknown) => boolean {
  const refer = ({ name }: NamedType): JsonSchema => ({ $ref: `#/$defs/${name}` });
  const schema = { ...jsonSchema(asRead(type), refer), $defs: { Tree: jsonSchema(asRead(tree.type), refer) } };
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

  it("keeps bytes of any size, and refuses base64 without its length", () => {
    const { toJson, fromJson } = conversionOf({ kind: "bytes" });
    const bytes = new Uint8Array(4 * 1024 * 1024).fill(0xa5);
    expect(Buffer.compare(fromJson(toJson(bytes)) as Uint8Array, bytes)).toBe(0);
    for (const text of ["A", "AA", "AAA", "AA=", "A===", "====", "AAAAA", "AA==AAAA"]) {
      expect(() => fromJson(text)).toThrow("it must be a string with base64");
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
    expect(() =>
      json({ kind: "map", key: { kind: "number" }, value: { kind: "boolean" } }, new Map([[0.5, true]])),
    ).toThrow('it must not have the key "0.5"');
    const upper: KeyType = { kind: "string", pattern: "^[A-Z]+$" };
    expect(() => json({ kind: "record", key: upper, value: { kind: "boolean" } }, { A: true, b: true })).toThrow(
      "it.b must not be a key: it does not match /^[A-Z]+$/u",
    );
    expect(() => json({ kind: "array", item: { kind: "boolean" }, rules: {} }, [true, undefined])).toThrow(
      "it[1] is missing",
    );
    expect(() => json({ kind: "record", key: { kind: "string" }, value: { kind: "boolean" } }, { "a b": 1 })).toThrow(
      'it["a b"] must be a boolean',
    );
  });
});
