/** The plugin option `openapi`: a document for each proto file with services, as a server creates it. */
import { createFileRegistry, type DescService } from "@bufbuild/protobuf";
import { createOpenApiOf } from "triple-es/openapi";
import { describe, expect, it } from "vitest";
import { plugin } from "../../src/plugin/plugin.ts";
import { DOCUMENTED_PROTO } from "../openapi/documented.ts";
import { compile, requestFor, run } from "./support/protos.ts";

const ROUTED = `syntax = "proto3";
package a.v1;
import "google/api/annotations.proto";
service A { rpc Get(M) returns (M) { option (google.api.http) = { get: "/v1/{name}" }; } }
service B {}
message M { string name = 1; }`;

/** A reduced copy of the annotation, with its number. */
const ANNOTATIONS = {
  "google/api/annotations.proto": `syntax = "proto3";
package google.api;
import "google/protobuf/descriptor.proto";
extend google.protobuf.MethodOptions { HttpRule http = 72295728; }
message HttpRule { oneof pattern { string get = 2; } string body = 7; }`,
};

const set = compile({ "shop/v1/shop.proto": DOCUMENTED_PROTO, "a/v1/a.proto": ROUTED, ...ANNOTATIONS });
const documentIn = (files: ReadonlyMap<string, string>, path: string) => JSON.parse(files.get(path) ?? "null");

describe("openapi=true", () => {
  it("writes one document for each file with services, whatever the targets", () => {
    const files = run(requestFor(set, "target=ts+js+dts,openapi=true"));
    const documents = [...files.keys()].filter((name) => name.endsWith(".json"));
    expect(documents).toEqual(["a/v1/a_openapi.json", "shop/v1/shop_openapi.json"]);
    expect(run(requestFor(set, "target=ts")).has("a/v1/a_openapi.json")).toBe(false);
  });

  it("writes the document that the runtime creates from the descriptors, comments included", () => {
    const written = documentIn(run(requestFor(set, "target=ts,openapi=true")), "shop/v1/shop_openapi.json");
    const service = createFileRegistry(set).getService("shop.v1.ShopService") as DescService;
    expect(written).toEqual(createOpenApiOf([service]));
    expect(written.paths["/shop.v1.ShopService/Buy"].post.summary).toBe("Buys a thing");
  });

  it("describes routes, and names several services by their package", () => {
    const { info, paths } = documentIn(run(requestFor(set, "openapi=true")), "a/v1/a_openapi.json");
    expect(info).toEqual({ title: "a.v1", version: "1.0.0" });
    expect(Object.keys(paths)).toEqual(["/a.v1.A/Get", "/v1/{name}"]);
  });

  it("writes documents for plain JSON too", () => {
    const files = run(requestFor(set, "target=ts,openapi=true,messages=json"));
    expect(files.has("shop/v1/shop_openapi.json")).toBe(true);
  });

  it("reports an invalid annotation with its file and method", () => {
    const wrong = compile({ "a/v1/a.proto": ROUTED.replace("{name}", "{unknown}"), ...ANNOTATIONS });
    const { error, file } = plugin.run(requestFor(wrong, "target=ts,openapi=true"));
    expect([error, file]).toEqual([
      'a/v1/a.proto: the rule google.api.http of /a.v1.A/Get: a.v1.M has no field "unknown"',
      [],
    ]);
  });
});
