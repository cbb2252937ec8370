/** Enum values with names of their own in JSON: all parts write the names that protobuf-es writes, and read both. */
import {
  create,
  createFileRegistry,
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescService,
  fromJson,
  type JsonObject,
  toJson,
} from "@bufbuild/protobuf";
import { createOpenApiOf } from "triple-es/openapi";
import { expect, it } from "vitest";
import { boundedJsonCodec } from "../../runtime/src/codec/bounded-codec.ts";
import { zeroOf } from "../../runtime/src/codec/json-fields.ts";
import { parseItem } from "../../runtime/src/http-rpc/body/parameters.ts";
import { exampleOf } from "../../runtime/src/openapi/example.ts";
import { compile, requestFor, run } from "../plugin/support/protos.ts";

// The option of google/protobuf/json_enumvalue_options.proto, which buf does not contain.
const PAINT_PROTO = `
edition = "2023";
package paint.v1;
import "google/protobuf/descriptor.proto";
message JsonName { string string = 1; }
extend google.protobuf.EnumValueOptions { JsonName json = 998; }
enum Shade {
  SHADE_UNSPECIFIED = 0 [(json).string = "any"];
  SHADE_DARK = 1 [(json).string = "dark"];
  SHADE_LIGHT = 2;
}
service PaintService { rpc Mix(Paint) returns (Paint); }
message Paint { Shade shade = 1 [features.field_presence = IMPLICIT]; }
`;
const files = compile({ "paint/v1/paint.proto": PAINT_PROTO });
const registry = createFileRegistry(files);
const paint = registry.getMessage("paint.v1.Paint") as DescMessage;
const shade = paint.field["shade"] as DescField & { enum: DescEnum };
const json = (number: number) =>
  (toJson(paint, create(paint, { shade: number }), { alwaysEmitImplicit: true }) as JsonObject)["shade"];
const names = shade.enum.values.map(({ number }) => json(number));

it("are written by the codec, as zero values and in OpenAPI documents", () => {
  expect(names).toEqual(["any", "dark", "SHADE_LIGHT"]);
  expect(new TextDecoder().decode(boundedJsonCodec.encode(paint, { shade: 1 }))).toBe('{"shade":"dark"}');
  expect([zeroOf(shade), exampleOf(paint)]).toEqual(["any", { shade: "any" }]);
  const { components } = createOpenApiOf([registry.getService("paint.v1.PaintService") as DescService]);
  expect(components["schemas"]).toMatchObject({ "paint.v1.Shade": { enum: names } });
});

it("are read in parameters of forms and routes, as the names of the proto file are", () => {
  for (const text of ["dark", "SHADE_DARK"])
    expect(fromJson(paint, { shade: parseItem({} as never, shade, text) ?? null })).toMatchObject({ shade: 1 });
  expect(() => parseItem({} as never, shade, "bright")).toThrow('"bright" is not among: any, dark, SHADE_LIGHT');
});

it("are in the types of clients of plain JSON", () => {
  const types = run(requestFor(files, "target=ts,messages=json")).get("paint/v1/paint_triple.ts");
  expect(types).toContain('"any" | "dark" | "SHADE_LIGHT"');
});
