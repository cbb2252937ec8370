/**
 * Rules of protovalidate in OpenAPI documents: the keywords of schemas, and examples that the rules accept. Ajv and
 * protovalidate, which have separate lock files, judge them; if one is not installed, its tests are skipped.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  createFileRegistry,
  type DescFile,
  type DescMessage,
  type DescService,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
} from "@bufbuild/protobuf";
import { file_google_protobuf_wrappers } from "@bufbuild/protobuf/wkt";
import { createOpenApiOf } from "triple-es/openapi";
import { describe, expect, it } from "vitest";
import { exampleOfPattern } from "../../runtime/src/openapi/pattern-example.ts";
import { compile } from "../plugin/support/protos.ts";
import { ROOT } from "../support/documents.ts";
import { hasJudges, importJudge } from "./installed.ts";
import { RULED } from "./ruled.ts";

const PROTOVALIDATE = join(ROOT, "test/validate/protovalidate/node_modules/@bufbuild/protovalidate/dist/esm");

const files = compile(RULED);
const registry = createFileRegistry(files);
const document = createOpenApiOf([registry.getService("orders.v1.OrderService") as DescService]);
const order = (document.components["schemas"] as Record<string, JsonObject>)["orders.v1.Order"] as JsonObject;
const { post } = document.paths["/orders.v1.OrderService/Place"] as { post: JsonObject };
type Body = { content: { "application/json": { example: Record<string, JsonValue> } } };
const { example } = (post["requestBody"] as Body).content["application/json"];

describe("the schema of a message with rules", () => {
  it("has the keywords of JSON Schema with their meaning", () => {
    expect(order["properties"]).toMatchObject({
      short: { type: "string", minLength: 1, maxLength: 3 },
      exact: { minLength: 4, maxLength: 4 },
      sku: { pattern: "^[A-Z]{3}-(?:\\d{4}|x)+$" },
      given: { type: "string" },
      email: { format: "email" },
      maybeEmail: { anyOf: [{ const: "" }, { format: "email" }] },
      unchecked: { type: "string" },
      choice: { enum: ["a", "b"] },
      needed: { minLength: 1 },
      quantity: { type: "integer", format: "int32", minimum: 1, maximum: 99 },
      outside: { type: "integer" },
      id: { type: "string", format: "int64", exclusiveMinimum: 0 },
      age: { minimum: 18, maximum: 4_294_967_295, not: { enum: [18, 19] } },
      color: { $ref: "#/components/schemas/orders.v1.Color", not: { enum: ["none"] } },
      tags: { minItems: 2, maxItems: 3, items: { type: "string", minLength: 2 } },
      limits: { minProperties: 1, propertyNames: { minLength: 1 }, additionalProperties: { minimum: 5 } },
      label: { type: "string", minLength: 1 },
    });
    const { given, unchecked } = order["properties"] as Record<string, JsonObject>;
    expect([given?.["pattern"], unchecked?.["minLength"]]).toEqual([undefined, undefined]);
  });

  it("requires the fields whose absence breaks a rule, and a member of a oneof", () => {
    const optional = ["given", "maybeEmail", "unchecked", "wanted", "outside", "label", "card", "cash"];
    const names = Object.keys(order["properties"] as object).filter((name) => !optional.includes(name));
    expect(order["required"]).toEqual(names);
    expect(order["oneOf"]).toEqual([{ required: ["card"] }, { required: ["cash"] }]);
  });
});

it.each<[pattern: string, extra: number, text: string]>([
  ["^[A-Z]{3}-\\d{4}$", 0, "AAA-0000"],
  ["^(?:ab|c)+x?$", 0, "ab"],
  ["^(?<year>[0-9]{4})/[^a-zA-Z0-9]$", 0, "0000/-"],
  ["^[a-z]{2,4}$", 9, "aaaa"],
  ["^\\p{Lu}\\w+\\.$", 2, "AaaaA.".replace("A.", ".")],
])("the example of the pattern %s with %i more repetitions is %s", (pattern, extra, text) => {
  expect(exampleOfPattern(pattern, extra)).toBe(text);
  expect(text).toMatch(new RegExp(pattern, "u"));
});

describe.skipIf(!existsSync(PROTOVALIDATE) || !hasJudges)("protovalidate and a validator of JSON Schema", () => {
  const load = (path: string) => import(pathToFileURL(join(PROTOVALIDATE, path)).href);

  /** Returns the identifiers of violated rules, and whether the JSON is valid for the schema. */
  async function judges(): Promise<(json: JsonValue) => readonly [violations: string[], isValid: boolean]> {
    const { createValidator } = await load("index.js");
    const rules: { file_buf_validate_validate: DescFile } = await load("gen/buf/validate/validate_pb.js");
    const source = files.file.find(({ name }) => name === "orders/v1/orders.proto");
    if (source === undefined) throw new Error("the file is not compiled");
    const original = createFileRegistry(source, (name) =>
      name === "buf/validate/validate.proto" ? rules.file_buf_validate_validate : file_google_protobuf_wrappers,
    );
    const type = original.getMessage("orders.v1.Order") as DescMessage;
    const validator = createValidator();
    type Validate = (value: unknown) => boolean;
    type Ajv = { addSchema(schema: object): void; compile(schema: object): Validate };
    const { default: judge } = await importJudge<{ default: { default: new (options: object) => Ajv } }>(
      "ajv/dist/2020.js",
    );
    const ajv = new judge.default({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: "document", components: document.components });
    const validate = ajv.compile({ $ref: "document#/components/schemas/orders.v1.Order" });
    return (json) => {
      const message: Message = fromJson(type, json, { ignoreUnknownFields: true });
      const { violations = [], error } = validator.validate(type, message);
      if (error !== undefined && violations.length === 0) throw error;
      return [violations.map(({ ruleId }: { ruleId: string }) => ruleId), validate(json)];
    };
  }

  it("accept the example of a request", async () => {
    const judge = await judges();
    expect(judge(example)).toEqual([[], true]);
  });

  it.each<[name: string, changes: Record<string, JsonValue>]>([
    ["too short", { short: "" }],
    ["too long", { short: "abcd" }],
    ["another pattern", { sku: "abc" }],
    ["without the prefix", { wrapped: "mid.b" }],
    ["with what it must not contain", { wrapped: "a/midno.b" }],
    ["none of the list", { choice: "c" }],
    ["empty, but required", { needed: "" }],
    ["below the minimum", { quantity: 0 }],
    ["above the maximum", { quantity: 100 }],
    ["excluded", { age: 19 }],
    ["at the exclusive bound", { ratio: 1 }],
    ["not the constant", { agreed: false }],
    ["an excluded name of an enum", { color: "none" }],
    ["the zero value of a required enum", { paint: "none" }],
    ["too few items", { tags: ["aa"] }],
    ["an invalid item", { tags: ["aa", "b"] }],
    ["an invalid name in a list", { colors: ["COLOR_BLUE"] }],
    ["an invalid key", { limits: { "": 5 } }],
    ["an invalid value of a map", { limits: { a: 4 } }],
    ["an invalid message", { first: { name: "" } }],
  ])("refuse a value that is %s", async (_, changes) => {
    const judge = await judges();
    const [violations, isAccepted] = judge({ ...example, ...changes });
    expect([violations.length, isAccepted]).toEqual([1, false]);
  });

  it("refuse requests without a field that must be set", async () => {
    const judge = await judges();
    for (const name of [...(order["required"] as string[]), "card"]) {
      const { [name]: _, ...others } = example;
      const [violations, isAccepted] = judge(others);
      expect([name, violations.length > 0, isAccepted]).toEqual([name, true, false]);
    }
  });

  it("accept requests without the other fields, and zero values that are not validated", async () => {
    const judge = await judges();
    for (const name of ["maybeEmail", "unchecked", "wanted", "label"]) {
      const { [name]: _, ...others } = example;
      expect([name, ...judge(others)]).toEqual([name, [], true]);
    }
    expect(judge({ ...example, maybeEmail: "", unchecked: "" })).toEqual([[], true]);
  });
});
