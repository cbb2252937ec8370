/** Fields with names that all objects inherit. */
import { create } from "@bufbuild/protobuf";
import { jsonCodec } from "triple-es";
import { expect, it } from "vitest";
import { SharedSchema } from "../../fixtures/gen/fixture/options/v1/shared_pb.ts";
import { encodeResponse } from "../../runtime/src/rest/binding.ts";
import { type FieldPath, setAtPath } from "../../runtime/src/rest/field-path.ts";
import type { Route } from "../../runtime/src/rest/rule.ts";

const pathOf = (...fields: readonly (readonly [name: string, jsonName: string])[]): FieldPath =>
  fields.map(([name, jsonName]) => ({ name, jsonName })) as unknown as FieldPath;

it("such as constructor are parts of a field path", () => {
  const json = {};
  setAtPath(json, pathOf(["constructor", "constructor"], ["name", "name"]), "a");
  setAtPath(json, pathOf(["__proto__", "Proto"], ["value_of", "valueOf"]), "b");
  expect(JSON.stringify(json)).toBe('{"constructor":{"name":"a"},"Proto":{"valueOf":"b"}}');
  expect(Object.hasOwn(Object.prototype, "b")).toBe(false);
  expect(typeof {}.valueOf).toBe("function");
});

it("are the body of a response that does not set them", () => {
  const route = {
    target: { output: SharedSchema },
    responseBody: SharedSchema.field["constructor$"],
  } as unknown as Route;
  expect(new TextDecoder().decode(encodeResponse(route, create(SharedSchema), jsonCodec as never))).toBe('""');
});
