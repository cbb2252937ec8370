/**
 * OpenAPI documents: what they say about services, messages, errors and routes. test/openapi/judges.test.ts validates
 * them.
 */
import { readFileSync } from "node:fs";
import {
  createFileRegistry,
  type DescMessage,
  type DescMethod,
  type DescService,
  type JsonObject,
} from "@bufbuild/protobuf";
import { createRouter, type ServiceDef } from "triple-es";
import { fetchHandler } from "triple-es/fetch";
import { addHealth } from "triple-es/health";
import { addOpenApi, createOpenApi, createOpenApiOf, type OpenApiDocument } from "triple-es/openapi";
import { addReflection } from "triple-es/reflection";
import { addRest } from "triple-es/rest";
import { interfacePayload } from "triple-es-dubbo/java";
import { describe, expect, it } from "vitest";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { ShopDef } from "../../fixtures/contract/gen/shop_triple.ts";
import { IdempotencyServiceDef } from "../../fixtures/gen/fixture/idempotency/v1/idempotency_triple.ts";
import { ParametersServiceDef } from "../../fixtures/gen/fixture/parameters/v1/parameters_triple.ts";
import { MessagingServiceDef } from "../../fixtures/gen/fixture/rest/v1/rest_triple.ts";
import { ClassesDef } from "../../fixtures/interface/gen/classes_triple.ts";
import { OverloadsDef } from "../../fixtures/interface/gen/overloads_triple.ts";
import { queryLeaves } from "../../runtime/src/openapi/rest-operation.ts";
import { keyOf } from "../../runtime/src/rest/field-path.ts";
import { compile, requestFor, run } from "../plugin/support/protos.ts";
import { ROOT } from "../support/documents.ts";
import { greeter } from "../support/server.ts";
import { DOCUMENTED_PROTO } from "./documented.ts";

/** An implementation of every service, which is never called. */
const anything = new Proxy({}, { get: () => () => ({}), has: () => true }) as never;

function routerOf(...services: ServiceDef<object, object>[]) {
  const router = createRouter();
  for (const service of services) router.add(service, anything);
  return router;
}

/** Returns what is at the path in the document, such as `paths`, then `/greet`. */
function at(document: object, ...path: string[]): JsonObject {
  return path.reduce<unknown>((value, key) => (value as JsonObject | undefined)?.[key], document) as JsonObject;
}

const compiled = createFileRegistry(compile({ "shop/v1/shop.proto": DOCUMENTED_PROTO }));
const shop = createOpenApiOf([compiled.getService("shop.v1.ShopService") as DescService]);
const schemaOf = (name: string): JsonObject => at(shop, "components", "schemas", name);
const propertiesOf = (name: string): JsonObject => at(schemaOf(name), "properties");

describe("the document of a router", () => {
  it("describes unary methods at their own paths, with the messages in JSON and the errors", () => {
    const document = createOpenApi(createRouter().add(GreetServiceDef, greeter));
    expect([document.openapi, document.info, document.servers]).toEqual([
      "3.1.1",
      { title: "greet.v1.GreetService", version: "1.0.0" },
      [{ url: "/" }],
    ]);
    const json = (name: string) => ({ "application/json": { schema: { $ref: `#/components/schemas/${name}` } } });
    expect(at(document, "paths", "/greet.v1.GreetService/Greet", "post")).toEqual({
      operationId: "greet.v1.GreetService.Greet",
      tags: ["greet.v1.GreetService"],
      summary: "Greet",
      parameters: [{ $ref: "#/components/parameters/Timeout" }],
      requestBody: {
        required: true,
        content: {
          "application/json": { ...json("greet.v1.GreetRequest")["application/json"], example: { name: "" } },
        },
      },
      responses: {
        "200": {
          description: "The response, greet.v1.GreetResponse.",
          content: {
            "application/json": { ...json("greet.v1.GreetResponse")["application/json"], example: { greeting: "" } },
          },
        },
        "4XX": { $ref: "#/components/responses/ClientError" },
        "5XX": { $ref: "#/components/responses/ServerError" },
      },
    });
    expect(at(document, "components", "responses", "ClientError", "content")).toEqual(json("Error-Body"));
  });

  it("marks streaming methods, with the content type by which they are called", () => {
    const { paths } = createOpenApi(createRouter().add(GreetServiceDef, greeter));
    const streams = Object.values(paths).flatMap(({ post }) => {
      const { operationId, "x-streaming": kind, requestBody } = post as JsonObject;
      return kind === undefined ? [] : [[operationId, kind, Object.keys(at(requestBody as JsonObject, "content"))]];
    });
    expect(streams).toEqual([
      ["greet.v1.GreetService.GreetEach", "server", ["application/json"]],
      ["greet.v1.GreetService.GreetTogether", "client", ["application/grpc+json"]],
      ["greet.v1.GreetService.GreetOnArrival", "bidi", ["application/grpc+json"]],
    ]);
  });

  it("names the versions and groups of a service", () => {
    const router = createRouter().add(GreetServiceDef, greeter, { version: "1.0.0", group: "blue" });
    const parametersOf = () =>
      (at(createOpenApi(router), "paths", "/greet.v1.GreetService/Greet", "post")["parameters"] as JsonObject[]).slice(
        1,
      );
    expect(parametersOf()).toEqual([
      { name: "tri-service-version", in: "header", required: true, schema: { type: "string", enum: ["1.0.0"] } },
      { name: "tri-service-group", in: "header", required: true, schema: { type: "string", enum: ["blue"] } },
    ]);
    router.add(GreetServiceDef, greeter, { version: "2.0.0" });
    expect(parametersOf().map(({ required, schema }) => [required, at(schema as JsonObject, "enum")])).toEqual([
      [true, ["1.0.0", "2.0.0"]],
      [false, ["blue"]],
    ]);
  });

  it("takes its general parts from the options, and refuses invalid ones", () => {
    const router = createRouter().add(GreetServiceDef, greeter);
    const info = { title: "Greetings", version: "2.1.0" };
    const bearer = { type: "http", scheme: "bearer" };
    const document = createOpenApi(router, {
      info,
      servers: [{ url: "https://greet.example" }],
      securitySchemes: { bearer },
      security: [{ bearer: [] }],
    });
    expect([document.info, document.servers, document.security]).toEqual([
      info,
      [{ url: "https://greet.example" }],
      [{ bearer: [] }],
    ]);
    expect(at(document, "components", "securitySchemes")).toEqual({ bearer });
    expect(() => addOpenApi(router, { info: { title: 1 } })).toThrow(new TypeError("info.title must be a string"));
    expect(() => addOpenApi(router, { path: "openapi.json" })).toThrow(/must start with \//);
  });

  it("describes health checking and reflection only if the option asks for them", () => {
    const router = createRouter().add(GreetServiceDef, greeter);
    addHealth(router);
    addReflection(router);
    const tagsOf = (options?: Parameters<typeof createOpenApi>[1]): unknown[] =>
      createOpenApi(router, options).tags.map(({ name }) => name);
    expect(tagsOf()).toEqual(["greet.v1.GreetService"]);
    expect(createOpenApi(router).info["title"]).toBe("greet.v1.GreetService");
    expect(tagsOf({ includeGrpcServices: true })).toEqual([
      "greet.v1.GreetService",
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
    ]);
  });

  it("is served at its path, and describes services that are added later", async () => {
    const router = createRouter().add(GreetServiceDef, greeter);
    addOpenApi(router);
    const handle = fetchHandler(router);
    const read = async () => {
      const response = await handle(new Request("http://localhost/openapi.json"));
      expect(response.headers.get("content-type")).toBe("application/json");
      return (await response.json()) as OpenApiDocument;
    };
    expect(Object.keys((await read()).paths)).toHaveLength(4);
    router.add(IdempotencyServiceDef, anything);
    expect(await read()).toEqual(createOpenApi(router));
    expect((await handle(new Request("http://localhost/openapi.json", { method: "DELETE" }))).status).toBe(405);
  });

  it("has the table of statuses and codes in the description of the error body", () => {
    const document = createOpenApi(createRouter());
    const { description, required, properties } = at(document, "components", "schemas", "Error-Body");
    expect(description).toContain("| 60 | service not found | 404 |");
    expect(description).toContain("| `resource_exhausted` | 429 |");
    expect(required).toEqual(["status", "message", "code"]);
    expect(at(properties as JsonObject, "status", "enum")).toEqual([25, 30, 31, 35, 40, 50, 60, 70, 80, 90]);
  });
});

describe("the schema of a message", () => {
  it("has its fields by their JSON names, in the JSON of their types", () => {
    const float = {
      anyOf: [
        { type: "number", format: "double" },
        { type: "string", enum: ["NaN", "Infinity", "-Infinity"] },
      ],
    };
    expect(propertiesOf("shop.v1.Everything")).toEqual({
      fullName: { type: "string" },
      "odd name": { type: "string" },
      small: { type: "integer", format: "int32" },
      count: { type: "integer", minimum: 0, maximum: 4_294_967_295 },
      big: { type: "string", format: "int64", pattern: "^-?[0-9]{1,19}$" },
      huge: { type: "string", format: "uint64", pattern: "^[0-9]{1,20}$" },
      ratio: float,
      data: { type: "string", contentEncoding: "base64" },
      color: { $ref: "#/components/schemas/shop.v1.Color" },
      tags: { type: "array", items: { type: "string" } },
      children: { type: "array", items: { $ref: "#/components/schemas/shop.v1.Everything" } },
      names: { type: "object", additionalProperties: { type: "string" } },
      byNumber: {
        type: "object",
        propertyNames: { pattern: "^-?[0-9]+$" },
        additionalProperties: { $ref: "#/components/schemas/shop.v1.Everything" },
      },
      flags: { type: "object", propertyNames: { enum: ["true", "false"] }, additionalProperties: { type: "boolean" } },
      time: { type: "string", format: "date-time" },
      wait: expect.objectContaining({ type: "string", pattern: expect.any(String) }),
      maybe: { type: "string", format: "int64", pattern: "^-?[0-9]{1,19}$" },
      any: expect.objectContaining({ type: "object", additionalProperties: true }),
      nothing: { type: "null" },
    });
  });

  it("reports presence: required fields, and optional ones whose absence is visible", () => {
    expect(schemaOf("shop.v1.Presence")).toEqual({
      type: "object",
      properties: {
        needed: { type: "string" },
        wanted: { type: "string", "x-presence": "explicit" },
        plain: { type: "string" },
      },
      required: ["needed"],
    });
  });

  it("accepts at most one field of each oneof", () => {
    const only = (...names: string[]) => ({
      oneOf: [
        ...names.map((name) => ({ required: [name] })),
        { properties: Object.fromEntries(names.map((name) => [name, false])) },
      ],
    });
    expect(schemaOf("shop.v1.Payment")["allOf"]).toEqual([only("card", "cash"), only("now", "later")]);
    expect(at(propertiesOf("shop.v1.Payment"), "card")["description"]).toBe("Excludes `cash`.");
  });

  it("has the comments of the proto file, and marks deprecated parts", () => {
    expect(shop.tags).toEqual([{ name: "shop.v1.ShopService", description: "Sells things." }]);
    const operation = at(shop, "paths", "/shop.v1.ShopService/Buy", "post");
    expect([operation["summary"], operation["deprecated"]]).toEqual(["Buys a thing", true]);
    expect(operation["description"]).toBe("Buys a thing. Takes a while.\n\nWith a second paragraph.");
    expect(schemaOf("shop.v1.Payment")["description"]).toBe("Money.");
    expect(propertiesOf("shop.v1.Payment")["cash"]).toMatchObject({
      description: "Coins and notes.\n\nExcludes `card`.",
      deprecated: true,
    });
    expect(schemaOf("shop.v1.Color")).toEqual({
      type: "string",
      description: "Colors of things.\n\n- `COLOR_RED`: like a rose.\n- `COLOR_OLD`: deprecated.",
      enum: ["COLOR_UNSPECIFIED", "COLOR_RED", "COLOR_OLD"],
    });
  });

  it("are copied from the documents that the plugin writes, at the same places", () => {
    const set = compile({ "shop/v1/shop.proto": DOCUMENTED_PROTO, "mask/v1/mask.proto": ROUTED_PROTO });
    const written = [...run(requestFor(set, "target=ts,openapi=true"))].filter(([path]) => path.endsWith(".json"));
    const documents = written.map(([, text]) => JSON.parse(text) as OpenApiDocument);
    expect(documents).toHaveLength(2);
    // Generated code has no source info.
    for (const file of set.file) file.sourceCodeInfo = undefined;
    const registry = createFileRegistry(set);
    for (const [index, name] of ["mask.v1.MaskService", "shop.v1.ShopService"].entries()) {
      const { typeName, methods } = registry.getService(name) as DescService;
      const methodOf = ({ name: method, input, output, deprecated }: DescMethod) =>
        ({
          kind: "unary",
          service: typeName,
          name: method,
          path: `/${name}/${method}`,
          input,
          output,
          deprecated,
        }) as const;
      const router = routerOf({
        typeName,
        methods: Object.fromEntries(methods.map((one) => [one.name, methodOf(one)])),
      });
      addRest(router, { rules: index === 0 ? [{ selector: `${name}.Get`, get: "/v1/{id}" }] : [] });
      expect(createOpenApi(router).tags).toEqual([{ name }]);
      const document = createOpenApi(router, { documents });
      expect(document.tags[0]?.["description"]).toMatch(/\.$/);
      const own = documents[index] as OpenApiDocument;
      for (const path of Object.keys(own.paths)) expect(document.paths[path]).toEqual(own.paths[path]);
      expect(document.components).toEqual(own.components);
    }
  });

  it("are copied from the document of a contract, with its schemas", () => {
    const own: OpenApiDocument = JSON.parse(readFileSync(`${ROOT}fixtures/contract/gen/shop_triple.json`, "utf8"));
    const document = createOpenApi(routerOf(ShopDef), { documents: [own] });
    expect(document.paths).toEqual(own.paths);
    expect(document.components).toEqual(own.components);
    // The documents share no objects, so that a change of one is not a change of the other.
    JSON.stringify(own, (_, value) => (typeof value === "object" ? Object.freeze(value) : value));
    const isFrozen = (value: unknown): boolean =>
      typeof value === "object" && value !== null && (Object.isFrozen(value) || Object.values(value).some(isFrozen));
    expect(isFrozen([document.paths, document.components["schemas"]])).toBe(false);
  });

  it("are left out of a document without them, which is valid for the option, and others are refused", () => {
    const documents = [createOpenApi(routerOf(IdempotencyServiceDef))];
    expect(createOpenApi(routerOf(GreetServiceDef), { documents })).toEqual(createOpenApi(routerOf(GreetServiceDef)));
    documents.push(createOpenApi(routerOf(GreetServiceDef, IdempotencyServiceDef)));
    expect(createOpenApi(routerOf(GreetServiceDef), { documents })).toEqual(createOpenApi(routerOf(GreetServiceDef)));
    expect(() => createOpenApi(routerOf(GreetServiceDef), { documents: [{}] })).toThrow(
      new TypeError("documents must be OpenAPI documents as JSON, such as the plugin writes with openapi=true"),
    );
  });
});

/** A service without the annotation of its route, whose message has a field with the name of a text. */
const ROUTED_PROTO = `
syntax = "proto3";
package mask.v1;
// Hides things.
service MaskService {
  // Gets a mask. Always.
  rpc Get(Mask) returns (Mask);
}
// A mask.
message Mask {
  // Its name.
  string id = 1;
  // Says more.
  string description = 2;
}
`;

describe("routes of REST", () => {
  const document = createOpenApi(
    (() => {
      const router = routerOf(MessagingServiceDef, IdempotencyServiceDef);
      addRest(router);
      return router;
    })(),
  );
  const parametersOf = (path: string, method: string): unknown[] =>
    (at(document, "paths", path, method)["parameters"] as JsonObject[]).flatMap((one) =>
      "name" in one ? [[one["in"], one["name"], ...(one["required"] ? ["required"] : [])].join(" ")] : [],
    );

  it("have their variables in the path, and the other fields in the query", () => {
    expect(parametersOf("/v2/messages/{messageId}", "get").slice(0, 3)).toEqual([
      "path messageId required",
      "query revision",
      "query sub.subfield",
    ]);
    expect(at(document, "paths", "/v2/messages/{messageId}", "get")["requestBody"]).toBeUndefined();
  });

  it("have any JSON as one text in the query", () => {
    const router = routerOf(ParametersServiceDef);
    addRest(router, { rules: [{ selector: "fixture.parameters.v1.ParametersService.All", get: "/all" }] });
    const parameters = at(createOpenApi(router), "paths", "/all", "get")["parameters"] as JsonObject[];
    expect(parameters.filter(({ content }) => content !== undefined)).toEqual([
      {
        name: "anything",
        in: "query",
        content: { "application/json": { schema: expect.objectContaining({ type: "object" }) } },
      },
      { name: "value", in: "query", content: { "application/json": { schema: { description: "Any JSON value." } } } },
      {
        name: "any",
        in: "query",
        content: { "application/json": { schema: expect.objectContaining({ type: "object" }) } },
      },
    ]);
  });

  it("have the field of the rule, or all fields outside of the path, in the body", () => {
    const bodyOf = (path: string, method: string): JsonObject =>
      at(document, "paths", path, method, "requestBody", "content", "application/json", "schema");
    expect(bodyOf("/v3/messages/{messageId}", "patch")).toEqual({
      $ref: "#/components/schemas/fixture.rest.v1.Message",
    });
    const { properties } = bodyOf("/v4/messages/{messageId}", "patch");
    expect(Object.keys(properties as object)).not.toContain("messageId");
    expect(Object.keys(properties as object).length).toBeGreaterThan(0);
  });

  it("with variables of several segments have a parameter for each wildcard", () => {
    expect(parametersOf("/v3/shelves/{message.name_1}/messages/{message.name_2}", "put").slice(0, 2)).toEqual([
      "path message.name_1 required",
      "path message.name_2 required",
    ]);
  });

  it("are listed only where the router serves them", () => {
    const { paths } = createOpenApi(routerOf(MessagingServiceDef));
    expect(Object.keys(paths).filter((path) => path.startsWith("/v"))).toEqual([]);
  });

  it("include GET of methods without side effects at their own path", () => {
    const gets = Object.entries(document.paths).filter(([path, { get }]) => path.startsWith("/fixture.idem") && get);
    expect(gets.map(([path]) => path)).toEqual(["/fixture.idempotency.v1.IdempotencyService/Read"]);
  });

  it("are joined if their paths differ in the names of variables only", () => {
    const same = Object.keys(document.paths).map((path) => path.replaceAll(/\{[^}]*\}/g, "{}"));
    expect(same.filter((path, index) => same.indexOf(path) !== index)).toEqual([]);
  });

  it("have at most 200 query parameters, although nested messages may have more paths to fields", () => {
    const levels = Array.from({ length: 30 }, (_, level) => {
      const fields = level === 29 ? "string a = 1;" : `M${level + 1} a = 1; M${level + 1} b = 2;`;
      return `message M${level} { ${fields} }`;
    });
    const set = compile({ "a/v1/a.proto": `syntax = "proto3";\npackage a.v1;\n${levels.join("\n")}` });
    const input = createFileRegistry(set).getMessage("a.v1.M0") as DescMessage;
    const method = { kind: "unary", service: "a.v1.S", name: "A", path: "/a.v1.S/A", input, output: input } as const;
    const router = routerOf({ typeName: "a.v1.S", methods: { a: method } });
    addRest(router, { rules: [{ selector: "a.v1.S.A", get: "/a" }] });
    const { parameters } = at(createOpenApi(router), "paths", "/a", "get");
    expect(parameters).toHaveLength(201);
  });

  it("are found without a visit of every path to messages that have none, or that are inside each other", () => {
    const queryOf = (messages: readonly string[]): unknown[] => {
      const set = compile({ "a/v1/a.proto": `syntax = "proto3";\npackage a.v1;\n${messages.join("\n")}` });
      const input = createFileRegistry(set).getMessage("a.v1.M0") as DescMessage;
      const method = { kind: "unary", service: "a.v1.S", name: "A", path: "/a.v1.S/A", input, output: input } as const;
      const router = routerOf({ typeName: "a.v1.S", methods: { a: method } });
      addRest(router, { rules: [{ selector: "a.v1.S.A", get: "/a" }] });
      const { parameters } = at(createOpenApi(router), "paths", "/a", "get");
      return (parameters as JsonObject[]).map(({ name }) => name).slice(0, -1);
    };
    const deep = Array.from({ length: 50 }, (_, level) =>
      level === 49 ? "message M49 {}" : `message M${level} { M${level + 1} a = 1; M${level + 1} b = 2; }`,
    );
    expect(queryOf(deep)).toEqual([]);
    expect(queryOf([deep[0]?.replace("}", "string mask = 3; }") ?? "", ...deep.slice(1)])).toEqual(["mask"]);

    const indexes = Array.from({ length: 20 }, (_, index) => index);
    const mutual = indexes.map((index) => {
      const fields = indexes.map((other) => `M${other} m${other} = ${other + 2};`).join(" ");
      return `message M${index} { ${index === 0 ? "string mask = 1;" : ""} ${fields} }`;
    });
    expect(queryOf(mutual)).toEqual(["mask"]);
  });

  it("are at most as deep as a path of fields may be, which bounds the search in long chains of messages", () => {
    const namesIn = (levels: number): string[] => {
      const chain = Array.from({ length: levels }, (_, level) =>
        level === levels - 1 ? `message M${level} { string a = 1; }` : `message M${level} { M${level + 1} a = 1; }`,
      );
      const set = compile({ "a/v1/a.proto": `syntax = "proto3";\npackage a.v1;\n${chain.join("\n")}` });
      const input = createFileRegistry(set).getMessage("a.v1.M0") as DescMessage;
      return queryLeaves(input, () => true).map(keyOf);
    };
    expect(namesIn(100)).toEqual([Array(100).fill("a").join(".")]);
    expect(namesIn(101)).toEqual([]);
    expect(namesIn(10_000)).toEqual([]);
  });

  it("count only fields that can be in the query, and not those of a large body", () => {
    const fields = Array.from({ length: 200 }, (_, index) => `string a${index} = ${index + 1};`);
    const set = compile({
      "a/v1/a.proto": `syntax = "proto3";\npackage a.v1;\nmessage Update { Large large = 1; string mask = 2; }\nmessage Large { ${fields.join(" ")} }`,
    });
    const input = createFileRegistry(set).getMessage("a.v1.Update") as DescMessage;
    const method = { kind: "unary", service: "a.v1.S", name: "A", path: "/a.v1.S/A", input, output: input } as const;
    const router = routerOf({ typeName: "a.v1.S", methods: { a: method } });
    addRest(router, { rules: [{ selector: "a.v1.S.A", patch: "/a", body: "large" }] });
    const { parameters } = at(createOpenApi(router), "paths", "/a", "patch");
    expect((parameters as JsonObject[]).map(({ name }) => name).slice(0, 2)).toEqual(["mask", undefined]);
  });

  it("that OpenAPI cannot express are named in the description of the method", () => {
    const texts = Object.values(document.paths).map(
      ({ post }) => (post as JsonObject | undefined)?.["description"] ?? "",
    );
    expect(texts.filter((text) => String(text).includes("which OpenAPI cannot express"))).not.toEqual([]);
  });
});

describe("interface methods", () => {
  it("take their arguments by position or by name, in the JSON of their Java types", () => {
    const document = createOpenApi(routerOf(ClassesDef));
    const [path = ""] = Object.keys(document.paths);
    const post = at(document, "paths", path, "post");
    const [byPosition, byName] = at(post, "requestBody", "content", "application/json", "schema")[
      "anyOf"
    ] as JsonObject[];
    expect([byPosition?.["type"], byName?.["type"]]).toEqual(["array", "object"]);
    expect(post["description"]).toBe("The method of an interface: its exceptions and attachments are not described.");
    expect(Object.keys(at(document, "components", "schemas")).length).toBeGreaterThan(2);
  });

  it("do not share a schema with a message of the same name, whichever is added first", () => {
    const set = compile({
      "a/v1/a.proto": `syntax = "proto3";\npackage a.v1;\nmessage User { Kind kind = 1; }\nenum Kind { KIND_NONE = 0; }`,
    });
    const input = createFileRegistry(set).getMessage("a.v1.User") as DescMessage;
    const call = { kind: "unary", service: "a.v1.S", name: "A", path: "/a.v1.S/A", input, output: input } as const;
    const proto = { typeName: "a.v1.S", methods: { a: call } };
    const type = (name: string) => ({ class: () => ({ name, fields: { age: "int" as const } }) });
    const parameters = ["User", "Kind"].map((name) => ({ name, type: type(`a.v1.${name}`) }));
    const java = {
      typeName: "a.v1.J",
      methods: {
        b: {
          kind: "unary" as const,
          service: "a.v1.J",
          name: "b",
          path: "/a.v1.J/b",
          payload: interfacePayload,
          signature: { parameters, result: "void" as const },
        },
      },
    };
    for (const services of [[proto, java] as const, [java, proto] as const]) {
      const document = createOpenApi(routerOf(...services));
      const { $ref } = at(document, "paths", call.path, "post", "requestBody", "content", "application/json", "schema");
      const user = at(document, ...String($ref).slice(2).split("/"), "properties");
      expect(user).toEqual({ kind: { $ref: expect.any(String) } });
      expect(at(document, ...String(at(user, "kind")["$ref"]).slice(2).split("/"))).toHaveProperty("enum");
      const bodies = at(document, "paths", "/a.v1.J/b", "post", "requestBody", "content", "application/json", "schema");
      const { prefixItems } = (bodies["anyOf"] as JsonObject[])[0] as JsonObject;
      for (const item of prefixItems as JsonObject[]) {
        const [one] = item["anyOf"] as JsonObject[];
        const schema = at(document, ...String(one?.["$ref"]).slice(2).split("/"));
        expect(Object.keys(at(schema, "properties"))).toEqual(["age"]);
      }
    }
  });

  it("that are overloaded share one operation", () => {
    const document = createOpenApi(routerOf(OverloadsDef));
    const shared = Object.values(document.paths).flatMap(({ post }) => {
      const { anyOf } = at(post as JsonObject, "responses", "200", "content", "application/json", "schema");
      return Array.isArray(anyOf) && anyOf.length > 1 ? [post] : [];
    });
    expect(shared.length).toBeGreaterThan(0);
  });
});
