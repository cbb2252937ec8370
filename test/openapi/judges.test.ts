/**
 * Tools that read OpenAPI documents judge ours: a validator, a linter, a generator of clients, Scalar, and a validator
 * of JSON Schema. They have a separate lock file, test/openapi/judges; if it is not installed, the tests are skipped
 * with a message.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  createFileRegistry,
  createRegistry,
  type DescMessage,
  type DescService,
  type JsonValue,
  type Message,
  type Registry,
  toJson,
} from "@bufbuild/protobuf";
import { TypeSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { Code, RpcError, type ServiceDef } from "triple-es";
import { createRouter, nodeHandler } from "triple-es/node";
import { addOpenApi, createOpenApi, createOpenApiOf, type OpenApiDocument } from "triple-es/openapi";
import { addRest } from "triple-es/rest";
import { describe, expect, it, onTestFinished } from "vitest";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { EditionsServiceDef } from "../../fixtures/gen/fixture/editions/v1/editions_triple.ts";
import { ParametersServiceDef } from "../../fixtures/gen/fixture/parameters/v1/parameters_triple.ts";
import { OldServiceDef$ } from "../../fixtures/gen/fixture/proto2/v1/proto2_triple.ts";
import { MessagingServiceDef } from "../../fixtures/gen/fixture/rest/v1/rest_triple.ts";
import { ClassesDef } from "../../fixtures/interface/gen/classes_triple.ts";
import { OverloadsDef } from "../../fixtures/interface/gen/overloads_triple.ts";
import { ScalarsDef } from "../../fixtures/interface/gen/scalars_triple.ts";
import { compile } from "../plugin/support/protos.ts";
import { EXECUTABLE, launchBrowser } from "../support/chromium.ts";
import { ROOT } from "../support/documents.ts";
import { everySpecial, everything, messagesOf } from "../support/messages.ts";
import { greeter } from "../support/server.ts";
import { DOCUMENTED_PROTO } from "./documented.ts";
import { hasJudges, importJudge, JUDGES } from "./installed.ts";

const run = promisify(execFile);

/** An implementation of every service, which is never called. */
const anything = new Proxy({}, { get: () => () => ({}), has: () => true }) as never;

/** The document of services with all kinds of messages, routes and methods. */
function wholeDocument(): OpenApiDocument {
  const router = createRouter();
  for (const service of [
    GreetServiceDef,
    OldServiceDef$,
    EditionsServiceDef,
    MessagingServiceDef,
    ClassesDef,
    OverloadsDef,
    ScalarsDef,
  ]) {
    router.add(service as ServiceDef<object, object>, anything);
  }
  addRest(router);
  return createOpenApi(router, { info: { license: { name: "Apache 2.0", identifier: "Apache-2.0" } } });
}

const shop = createOpenApiOf(
  [
    createFileRegistry(compile({ "shop/v1/shop.proto": DOCUMENTED_PROTO })).getService(
      "shop.v1.ShopService",
    ) as DescService,
  ],
  { info: { license: { name: "Apache 2.0", identifier: "Apache-2.0" } } },
);

describe.skipIf(!hasJudges)("a document", () => {
  const documents = [
    // Tags have the comments on services as their descriptions.
    ["all kinds of services, without comments", wholeDocument, ["tag-description"]],
    ["a proto file with comments", () => shop, []],
  ] as const;

  it.each(documents)("of %s is valid for @seriousme/openapi-schema-validator", async (_, create) => {
    type Judge = { Validator: new () => { validate(document: object): Promise<{ valid: boolean; errors?: unknown }> } };
    const { Validator } = await importJudge<Judge>("@seriousme/openapi-schema-validator");
    expect(await new Validator().validate({ ...create() })).toEqual({ valid: true });
    const broken = { ...create(), paths: { greet: {} } };
    expect((await new Validator().validate(broken)).valid).toBe(false);
  });

  it.each(documents)("of %s breaks none of Redocly's strict rules other than %3$j", async (_, create, broken) => {
    type Problem = { readonly ruleId: string };
    type Judge = {
      createConfig(config: object): Promise<object>;
      lintFromString(input: { source: string; absoluteRef: string; config: object }): Promise<Problem[]>;
    };
    const { createConfig, lintFromString } = await importJudge<Judge>("@redocly/openapi-core");
    const config = await createConfig({ extends: ["recommended-strict"] });
    const lint = (document: object) =>
      lintFromString({ source: JSON.stringify(document), absoluteRef: join(JUDGES, "openapi.json"), config });
    expect([...new Set((await lint(create())).map(({ ruleId }) => ruleId))]).toEqual(broken);
    expect((await lint({ ...create(), servers: [] })).map(({ ruleId }) => ruleId)).toContain("no-empty-servers");
  });

  it("has schemas that accept the JSON of every message, and refuse two fields of one oneof", async () => {
    type Validate = (value: unknown) => boolean;
    type Ajv = { addSchema(schema: object): void; compile(schema: object): Validate };
    type Judge = { default: { default: new (options: object) => Ajv } };
    const { default: judge } = await importJudge<Judge>("ajv/dist/2020.js");
    const validatorOf = (document: OpenApiDocument, name: string): Validate => {
      const ajv = new judge.default({ strict: false, validateFormats: false });
      ajv.addSchema({ $id: "document", components: document.components });
      return ajv.compile({ $ref: `document#/components/schemas/${name}` });
    };
    for (const type of [everything("proto2"), everything("proto3"), everySpecial()]) {
      const validate = validatorOf(documentOf(type), type.typeName);
      const registry = createRegistry(type.file, TypeSchema);
      let accepted = 0;
      const isValid = (message: object): boolean => {
        const json = jsonOf(type, message, registry);
        if (json === undefined) return true;
        accepted += 1;
        return validate(json);
      };
      fc.assert(fc.property(messagesOf(type, 1, 20), isValid), { numRuns: 50 });
      expect(accepted).toBeGreaterThan(5);
    }
    const validate = validatorOf(shop, "shop.v1.Payment");
    const payments = [{}, { card: "1" }, { cash: "1" }, { card: "1", cash: "1" }];
    expect(payments.map(validate)).toEqual([true, true, true, false]);
    const presence = validatorOf(shop, "shop.v1.Presence");
    expect([{ needed: "" }, { plain: "" }].map(presence)).toEqual([true, false]);
  });
});

/** Returns the JSON of a message; `undefined` for one without JSON, such as a `Value` that has no value. */
function jsonOf(type: DescMessage, message: object, registry: Registry): JsonValue | undefined {
  try {
    return toJson(type, message as Message, { registry });
  } catch {
    return undefined;
  }
}

/** Returns the document of a service whose only method takes and returns the message. */
function documentOf(type: DescMessage): OpenApiDocument {
  const method = { kind: "unary", service: "a.S", name: "A", path: "/a.S/A", input: type, output: type } as const;
  return createOpenApi(createRouter().add({ typeName: "a.S", methods: { a: method } }, anything));
}

describe.skipIf(!hasJudges)("the document of a live server", () => {
  /** Serves methods, REST and the document below `/api`, and a page at every path of `pages`. Returns the origin. */
  async function start(pages: Readonly<Record<string, readonly [type: string, content: string]>> = {}) {
    const router = createRouter()
      .add(GreetServiceDef, {
        ...greeter,
        greet: ({ name }) => {
          if (name === "") throw new RpcError(Code.InvalidArgument, "the name is empty");
          return { greeting: `Hello, ${name}!` };
        },
      })
      .add(ParametersServiceDef, anything);
    addRest(router, { rules: [{ selector: "greet.v1.GreetService.Greet", get: "/hello/{name}" }] });
    addOpenApi(router);
    const handler = nodeHandler(router, { prefix: "/api" });
    const server = createServer((request, response) => {
      const [type, content] = pages[request.url ?? ""] ?? [];
      if (type === undefined) handler(request, response);
      else response.writeHead(200, { "content-type": type }).end(content);
    });
    server.listen(0, "127.0.0.1");
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    await once(server, "listening");
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it("becomes a typed client by openapi-typescript and openapi-fetch", async () => {
    const url = await start();
    type Judge = { default(source: URL): Promise<unknown[]>; astToString(nodes: unknown[]): string };
    const { default: generate, astToString } = await importJudge<Judge>("openapi-typescript");
    const folder = mkdtempSync(join(JUDGES, "node_modules/.client-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, "api.d.ts"), astToString(await generate(new URL(`${url}/api/openapi.json`))));
    writeFileSync(join(folder, "client.ts"), CLIENT);
    const compilerOptions = {
      strict: true,
      module: "NodeNext",
      target: "ES2022",
      noEmit: true,
      skipLibCheck: true,
      types: [],
    };
    const project = { compilerOptions: { ...compilerOptions, lib: ["ES2022", "DOM"] }, files: ["client.ts"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(project));
    writeFileSync(join(folder, "package.json"), '{"type": "module"}');
    const checked = await run(process.execPath, ["node_modules/typescript/bin/tsc", "-p", folder], { cwd: ROOT }).catch(
      (error) => error,
    );
    expect(checked.stdout).toBe("");
    const tsx = join(ROOT, "node_modules/tsx/dist/cli.mjs");
    const { stdout } = await run(process.execPath, [tsx, join(folder, "client.ts"), `${url}/api`]);
    expect(JSON.parse(stdout)).toEqual([
      { greeting: "Hello, Ada!" },
      { greeting: "Hello, Ben!" },
      { status: 70, message: "the name is empty", code: "invalid_argument" },
    ]);
  });

  it.skipIf(!existsSync(EXECUTABLE))("is shown and called by Scalar", async () => {
    const script = readFileSync(join(JUDGES, "node_modules/@scalar/api-reference/dist/browser/standalone.js"), "utf8");
    const url = await start({ "/": ["text/html", SCALAR_PAGE], "/scalar.js": ["text/javascript", script] });
    const browser = await launchBrowser();
    onTestFinished(() => browser.close());
    const page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
    // Its fonts and its other pages are not needed.
    await page.route(
      (target) => target.origin !== url,
      (route) => route.abort(),
    );
    await page.goto(`${url}/#tag/greetv1greetservice/POST/greet.v1.GreetService/Greet`);
    await page
      .getByRole("button", { name: /Test Request.*GreetService\/Greet\)/ })
      .first()
      .click();
    const received = page.waitForResponse(`${url}/api/greet.v1.GreetService/Greet`);
    await page.getByRole("button", { name: /^Send/ }).first().click();
    expect(await (await received).json()).toEqual({
      status: 70,
      message: "the name is empty",
      code: "invalid_argument",
    });
  });
});

const SCALAR_PAGE = `<!doctype html><title>Scalar</title><div id="app"></div><script src="/scalar.js"></script>
<script>Scalar.createApiReference("#app", { url: "/api/openapi.json", withDefaultFonts: false, telemetry: false })</script>`;

/** A program that calls the server at the URL in its argument, and prints two answers and an error. */
const CLIENT = `
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

declare const process: { argv: string[] };
const client = createClient<paths>({ baseUrl: process.argv[2] as string });
const { data } = await client.POST("/greet.v1.GreetService/Greet", { body: { name: "Ada" } });
const routed = await client.GET("/hello/{name}", { params: { path: { name: "Ben" } } });
const { error } = await client.POST("/greet.v1.GreetService/Greet", { body: {} });
const message: string | undefined = error?.message;
const greeting: string | undefined = data?.greeting;
// @ts-expect-error: the name is a string.
const wrong = () => client.POST("/greet.v1.GreetService/Greet", { body: { name: 1 } });
// @ts-expect-error: there is no such method.
const unknown = () => client.POST("/greet.v1.GreetService/Unknown", { body: {} });
console.log(JSON.stringify([data, routed.data, error], (_, value) => value));
void [message, greeting, wrong, unknown];
`;
