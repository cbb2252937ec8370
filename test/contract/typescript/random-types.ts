/** Random types of contracts, their values and their conversion. */
import fc, { type Arbitrary } from "fast-check";
import { converter } from "../../../src/contract/typescript/wire-code.ts";
import type {
  KeyType,
  NamedType,
  ValueRules,
  WireField,
  WireType,
} from "../../../src/contract/typescript/wire-type.ts";
import * as t from "../../../src/triple-contract.ts";

export interface Conversions {
  toJson(value: unknown): unknown;
  fromJson(json: unknown): unknown;
}

/** A tree: the only type at random that contains itself. */
export const tree: NamedType = { name: "Tree", comment: [], type: { kind: "boolean" } };
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

export const NAMES = ["a", "b", "constructor", "toString", "with-dash", "ü", "0"];

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

const keys = fc.constantFrom<KeyType>(
  { kind: "string" },
  { kind: "string", pattern: "^[a-z-]+$" },
  { kind: "number" },
  { kind: "bigint" },
);

export const { type: types } = fc.letrec<{ type: WireType; object: WireType }>((tie) => ({
  type: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    strings,
    numbers,
    simple,
    constants,
    fc.tuple(tie("type"), limits(2)).map(([item, rules]): WireType => ({ kind: "array", item, rules })),
    fc.array(tie("type"), { maxLength: 3 }).map((items): WireType => ({ kind: "tuple", items })),
    fc.tuple(keys, tie("type")).map(([key, value]): WireType => ({ kind: "record", key, value })),
    fc.tuple(keys, tie("type")).map(([key, value]): WireType => ({ kind: "map", key, value })),
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

/** The largest bigint, and the first instant, of random values. */
export interface Bounds {
  readonly big: bigint;
  readonly first: Date;
}

const WIDE: Bounds = { big: 10n ** 30n, first: new Date("0000-01-01T00:00:00Z") };

/** Returns the values of a type. */
export function valuesOf(type: WireType, bounds = WIDE, depth = 0): Arbitrary<unknown> {
  const of = (inner: WireType): Arbitrary<unknown> => valuesOf(inner, bounds, depth + 1);
  const bigints = fc.bigInt({ min: -bounds.big, max: bounds.big });
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
      return bigints;
    case "date":
      return fc.date({
        min: bounds.first,
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
    case "map": {
      const { kind: key, pattern } = type.key;
      const names =
        type.kind === "map" ? fc.string({ maxLength: 3 }) : fc.constantFrom("__proto__", "a", "constructor", "");
      const strings = pattern === undefined ? names : fc.stringMatching(new RegExp(pattern));
      const all = entries(
        { string: strings, number: fc.integer(), bigint: bigints }[key] as Arbitrary<unknown>,
        type.value,
      );
      return all.map((one) => (type.kind === "map" ? new Map(one) : Object.fromEntries(one as [string, unknown][])));
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
export function conversionOf(type: WireType): Conversions {
  const nameOf = ({ name }: NamedType): string => `convert${name}`;
  const code = `const convertTree = ${converter(tree.type, nameOf)}; return t.message("it", ${converter(type, nameOf)});`;
  return new Function("t", code)(t);
}
