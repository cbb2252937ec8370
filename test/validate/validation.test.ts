/**
 * The interceptor that validates messages, with a validator of two lines, and with protovalidate and its rules. The
 * latter has a separate lock file; if it is not installed, its tests are skipped with a message.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  createFileRegistry,
  createRegistry,
  type DescFile,
  type DescMessage,
  fromJson,
  type JsonValue,
  toBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, file_google_protobuf_descriptor } from "@bufbuild/protobuf/wkt";
import {
  Code,
  createClient,
  createInMemoryTransport,
  createRouter,
  findDetails,
  type Interceptor,
  type RpcError,
  type ServiceDef,
} from "triple-es";
import { createValidation, type MessageValidator } from "triple-es/validate";
import { describe, expect, it } from "vitest";
import { createGreetServiceClient, GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { BadRequestSchema } from "../../fixtures/gen/google/rpc/error_details_pb.ts";
import { ROOT } from "../support/documents.ts";
import { failureOf, greeter } from "../support/server.ts";

const PACKAGE = join(ROOT, "test/validate/protovalidate/node_modules/@bufbuild/protovalidate");
const isInstalled = existsSync(PACKAGE);
if (!isInstalled) console.warn("skipped: protovalidate; CONTRIBUTING.md says how to install it");

/** Refuses empty names. */
const nonEmpty: MessageValidator = {
  validate: (schema, message) => {
    const { name } = message as { name?: string };
    const field = schema.field["name"];
    if (name !== "" || field === undefined) return { kind: "valid", error: undefined, violations: undefined };
    const violation = { message: "must not be empty", ruleId: "string.min_len", field: [field] };
    return { kind: "invalid", error: new Error("invalid"), violations: [violation] };
  },
};

const violationsOf = (error: RpcError) =>
  findDetails(error, BadRequestSchema).flatMap(({ fieldViolations }) =>
    fieldViolations.map(({ field, description, reason }) => [field, description, reason]),
  );

describe.each(["grpc", "http-rpc"] as const)("a server over %s", (protocol) => {
  const reported: unknown[] = [];
  const connect = (interceptor: Interceptor) => {
    const router = createRouter({ interceptors: [interceptor], onError: (error) => reported.push(error) });
    return createGreetServiceClient(createInMemoryTransport(router.add(GreetServiceDef, greeter), { protocol }));
  };

  it("refuses an invalid message with the violations, and passes a valid one", async () => {
    const client = connect(createValidation(nonEmpty));
    const error = await failureOf(client.greet({}));
    expect([error.code, error.rawMessage]).toEqual([
      Code.InvalidArgument,
      "greet.v1.GreetRequest is invalid: name: must not be empty",
    ]);
    expect(violationsOf(error)).toEqual([["name", "must not be empty", "STRING_MIN_LEN"]]);
    expect((await client.greet({ name: "Ann" })).greeting).toBe("Hello, Ann!");
  });

  it("hides an error of the rules from the client, and reports it", async () => {
    const problem = new Error("the rule does not compile");
    const broken: MessageValidator = { validate: () => ({ kind: "error", error: problem, violations: undefined }) };
    const error = await failureOf(connect(createValidation(broken)).greet({ name: "Ann" }));
    expect([error.code, error.rawMessage]).toEqual([Code.Unknown, expect.not.stringContaining("compile")]);
    expect(reported).toEqual([problem]);
  });
});

it("validates each message of a stream when it is read", async () => {
  const router = createRouter({ interceptors: [createValidation(nonEmpty)] }).add(GreetServiceDef, greeter);
  const client = createGreetServiceClient(createInMemoryTransport(router));
  async function* people(...names: string[]) {
    for (const name of names) yield { name };
  }
  expect((await client.greetTogether(people("Ann", "Bob"))).greeting).toContain("Ann");
  const error = await failureOf(client.greetTogether(people("Ann", "", "Bob")));
  expect([error.code, violationsOf(error)]).toEqual([
    Code.InvalidArgument,
    [["name", "must not be empty", "STRING_MIN_LEN"]],
  ]);
});

it("validates init objects on a client, before they are sent", async () => {
  let calls = 0;
  const router = createRouter().add(GreetServiceDef, {
    ...greeter,
    greet: () => {
      calls += 1;
      return {};
    },
  });
  const client = createGreetServiceClient(
    createInMemoryTransport(router, { interceptors: [createValidation(nonEmpty)] }),
  );
  expect((await failureOf(client.greet({}))).code).toBe(Code.InvalidArgument);
  await client.greet({ name: "Ann" });
  expect(calls).toBe(1);
});

it("is refused without a validator", () => {
  expect(() => createValidation({} as MessageValidator)).toThrow("createValidation takes a validator");
});

describe.skipIf(!isInstalled)("with protovalidate", () => {
  /** A service whose request has standard rules, a rule in CEL, a repeated field, a map and a nested message. */
  async function connect() {
    const { createValidator } = await import(join(PACKAGE, "dist/esm/index.js"));
    const rules: { file_buf_validate_validate: DescFile } = await import(
      join(PACKAGE, "dist/esm/gen/buf/validate/validate_pb.js")
    );
    const file = compile(SIGN_UP, rules.file_buf_validate_validate);
    const type = (name: string) => file.getMessage(`signup.v1.${name}`) as DescMessage;
    const [input, output] = [type("SignUpRequest"), type("SignUpResponse")];
    const path = "/signup.v1.SignUpService/SignUp";
    const service = "signup.v1.SignUpService";
    const method = { kind: "unary", service, name: "SignUp", path, input, output } as const;
    const definition: ServiceDef<object, { signUp: () => object }> = { typeName: service, methods: { signUp: method } };
    const validation = createValidation(createValidator());
    const router = createRouter({ interceptors: [validation] }).add(definition, { signUp: () => ({}) });
    const client = createClient(definition, createInMemoryTransport(router)) as unknown as {
      signUp(request: object): Promise<object>;
    };
    return client;
  }

  const valid = { email: "ann@example.com", age: 30, tags: ["a"], limits: { a: 1 }, address: { city: "Oslo" } };

  it("passes a valid message", async () => {
    const { signUp } = await connect();
    expect(await signUp(valid)).toMatchObject({ $typeName: "signup.v1.SignUpResponse" });
  });

  it.each<[string, object, string[]]>([
    ["a format", { email: "ann" }, ["email", "STRING_EMAIL"]],
    ["a range", { age: 17 }, ["age", "UINT32_GTE"]],
    ["unique items", { tags: ["a", "a"] }, ["tags", "REPEATED_UNIQUE"]],
    ["an item", { tags: ["a", ""] }, ["tags[1]", "STRING_MIN_LEN"]],
    ["a value of a map", { limits: { a: 1, b: -1 } }, ['limits["b"]', "INT32_GT"]],
    ["a nested message", { address: { city: "" } }, ["address.city", "STRING_MIN_LEN"]],
    ["a required message", { address: undefined }, ["address", "REQUIRED"]],
    ["a rule of the message in CEL", { email: "root@example.com", age: 18 }, ["", "SIGN_UP_ROOT"]],
  ])("refuses a violation of %s", async (_what, changes, [field, reason]) => {
    const { signUp } = await connect();
    const error = await failureOf(signUp({ ...valid, ...changes }));
    expect(error.code).toBe(Code.InvalidArgument);
    expect(violationsOf(error).map(([path, , rule]) => [path, rule])).toEqual([[field, reason]]);
  });

  it("reports all violations in the details, and three in the text", async () => {
    const { signUp } = await connect();
    const error = await failureOf(signUp({ email: "", age: 0, tags: ["", ""] }));
    expect(violationsOf(error).length).toBeGreaterThan(4);
    expect(error.rawMessage).toMatch(/^signup\.v1\.SignUpRequest is invalid: email: .*; and \d+ more$/);
  });
});

const LABEL = { optional: "LABEL_OPTIONAL", repeated: "LABEL_REPEATED" };
const field = (name: string, number: number, type: string, rules: JsonValue, more: object = {}) => ({
  ...{ name, number, type: `TYPE_${type}`, label: LABEL.optional, jsonName: name },
  ...more,
  options: { "[buf.validate.field]": rules },
});
const entry = (name: string, number: number, type: string) => ({
  ...{ name, number, type: `TYPE_${type}`, label: LABEL.optional, jsonName: name },
});

/** The proto file of the service, as a descriptor in JSON. */
const SIGN_UP = {
  name: "signup/v1/signup.proto",
  package: "signup.v1",
  syntax: "proto3",
  dependency: ["buf/validate/validate.proto"],
  messageType: [
    {
      name: "SignUpRequest",
      options: {
        "[buf.validate.message]": {
          cel: [
            {
              id: "sign_up.root",
              message: "root must be of age 21",
              expression: "!this.email.startsWith('root@') || this.age >= 21u",
            },
          ],
        },
      },
      field: [
        field("email", 1, "STRING", { string: { email: true } }),
        field("age", 2, "UINT32", { uint32: { gte: 18 } }),
        field(
          "tags",
          3,
          "STRING",
          { repeated: { unique: true, items: { string: { minLen: 1 } } } },
          { label: LABEL.repeated },
        ),
        field(
          "limits",
          4,
          "MESSAGE",
          { map: { values: { int32: { gt: 0 } } } },
          {
            label: LABEL.repeated,
            typeName: ".signup.v1.SignUpRequest.LimitsEntry",
          },
        ),
        field("address", 5, "MESSAGE", { required: true }, { typeName: ".signup.v1.Address" }),
      ],
      nestedType: [
        {
          name: "LimitsEntry",
          options: { mapEntry: true },
          field: [entry("key", 1, "STRING"), entry("value", 2, "INT32")],
        },
      ],
    },
    { name: "Address", field: [field("city", 1, "STRING", { string: { minLen: 1 } })] },
    { name: "SignUpResponse" },
  ],
};

function compile(json: JsonValue, rules: DescFile) {
  const registry = createRegistry(rules, file_google_protobuf_descriptor);
  const proto = fromJson(FileDescriptorProtoSchema, json, { registry });
  expect(toBinary(FileDescriptorProtoSchema, proto).byteLength).toBeGreaterThan(300);
  return createFileRegistry(proto, (name) => (name === rules.proto.name ? rules : undefined));
}
