/** The reflection service in both versions: its responses to each kind of request. */
import { create, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { Code, createInMemoryTransport, createRouter, type Router } from "triple-es";
import { addReflection } from "triple-es/reflection";
import { describe, expect, it } from "vitest";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { file_fixture_imports_v1_imports } from "../../fixtures/gen/fixture/imports/v1/imports_pb.ts";
import { OldServiceDef$ as OldServiceDef } from "../../fixtures/gen/fixture/proto2/v1/proto2_triple.ts";
import { EmptyServiceDef, FirstServiceDef } from "../../fixtures/gen/fixture/services/v1/services_triple.ts";
import { file_fixture_wellknown_v1_wellknown } from "../../fixtures/gen/fixture/wellknown/v1/wellknown_pb.ts";
import { WellknownServiceDef } from "../../fixtures/gen/fixture/wellknown/v1/wellknown_triple.ts";
import {
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
} from "../../fixtures/gen/grpc/reflection/v1/reflection_pb.ts";
import { createServerReflectionClient } from "../../fixtures/gen/grpc/reflection/v1/reflection_triple.ts";
import { createServerReflectionClient as createAlphaClient } from "../../fixtures/gen/grpc/reflection/v1alpha/reflection_triple.ts";
import { failureOf, greeter } from "../support/server.ts";
import { ShopDef, shop } from "../support/shop.ts";

type Question = ServerReflectionRequest["messageRequest"];
type Answer = ServerReflectionResponse["messageResponse"];

const router = createRouter();
addReflection(router, { files: [file_fixture_imports_v1_imports, file_fixture_wellknown_v1_wellknown] });
router
  .add(GreetServiceDef, greeter)
  .add(GreetServiceDef, greeter, { version: "2" })
  .add(OldServiceDef, { call: () => ({}) });

async function* sendEach<Q>(questions: Iterable<Q>) {
  for (const messageRequest of questions) yield { host: "a.test", messageRequest };
}

async function askOf(asked: Router, ...questions: Question[]): Promise<Answer[]> {
  const client = createServerReflectionClient(createInMemoryTransport(asked));
  const answers: Answer[] = [];
  for await (const response of client.serverReflectionInfo(sendEach(questions))) {
    const messageRequest = questions[answers.length] as Question;
    const request = create(ServerReflectionRequestSchema, { host: "a.test", messageRequest });
    expect([response.validHost, response.originalRequest]).toEqual(["a.test", request]);
    answers.push(response.messageResponse);
  }
  return answers;
}

const ask = (...questions: Question[]): Promise<Answer[]> => askOf(router, ...questions);

function filesOf(answer: Answer | undefined): string[] {
  if (answer?.case !== "fileDescriptorResponse") throw new Error(`not files: ${JSON.stringify(answer)}`);
  return answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes).name);
}

const errorOf = (answer: Answer | undefined) =>
  answer?.case === "errorResponse" ? [answer.value.errorCode, answer.value.errorMessage] : answer;

const SERVICES = [
  "fixture.proto2.v1.OldService",
  "greet.v1.GreetService",
  "grpc.reflection.v1.ServerReflection",
  "grpc.reflection.v1alpha.ServerReflection",
];

it.each([
  ["v1", createServerReflectionClient],
  ["v1alpha", createAlphaClient],
])("%s lists the services, those added later too", async (_version, createClient) => {
  const client = createClient(createInMemoryTransport(router));
  const names: string[] = [];
  const questions = sendEach([{ case: "listServices" as const, value: "*" }]);
  for await (const { messageResponse } of client.serverReflectionInfo(questions)) {
    if (messageResponse.case === "listServicesResponse") {
      names.push(...messageResponse.value.service.map(({ name }) => name));
    }
  }
  expect(names).toEqual(SERVICES);
});

describe("a file", () => {
  it.each([
    ["greet.v1.GreetService", "greet/v1/greet.proto"],
    ["greet.v1.GreetService.Greet", "greet/v1/greet.proto"],
    ["greet.v1.GreetRequest", "greet/v1/greet.proto"],
    ["greet.v1.GreetRequest.name", "greet/v1/greet.proto"],
    ["fixture.imports.v1.Outer.Inner", "fixture/imports/v1/imports.proto"],
    ["fixture.proto2.v1.OldServiceDef", "fixture/proto2/v1/proto2.proto"],
    ["google.protobuf.NULL_VALUE", "google/protobuf/struct.proto"],
    ["grpc.reflection.v1.ServerReflectionRequest.message_request", "grpc/reflection/v1/reflection.proto"],
  ])("is found by the symbol %s", async (value, file) => {
    const [answer] = await ask({ case: "fileContainingSymbol", value });
    expect(filesOf(answer)[0]).toBe(file);
  });

  it("is found by its name and by an extension", async () => {
    const [byName, byExtension] = await ask(
      { case: "fileByFilename", value: "greet/v1/greet.proto" },
      {
        case: "fileContainingExtension",
        value: {
          $typeName: "grpc.reflection.v1.ExtensionRequest",
          containingType: "fixture.proto2.v1.CallRequest",
          extensionNumber: 100,
        },
      },
    );
    expect(filesOf(byName)).toEqual(["greet/v1/greet.proto"]);
    expect(filesOf(byExtension)).toEqual(["fixture/proto2/v1/proto2.proto"]);
  });

  it("is sent with all its imports, which the stream does not repeat", async () => {
    const value = "fixture/imports/v1/imports.proto";
    const [first, again] = await ask({ case: "fileByFilename", value }, { case: "fileByFilename", value });
    const imported = [
      "fixture/imports/v1/sibling.proto",
      "fixture/imports/v1/unused.proto",
      "fixture/other/v1/other.proto",
    ];
    expect(filesOf(first)).toEqual([value, ...imported]);
    expect(filesOf(again)).toEqual([value]);
  });
});

it("lists the numbers of extensions", async () => {
  const [some, none] = await ask(
    { case: "allExtensionNumbersOfType", value: "fixture.proto2.v1.CallRequest" },
    { case: "allExtensionNumbersOfType", value: "greet.v1.GreetRequest" },
  );
  expect(some?.value).toMatchObject({ baseTypeName: "fixture.proto2.v1.CallRequest", extensionNumber: [100] });
  expect(none?.value).toMatchObject({ baseTypeName: "greet.v1.GreetRequest", extensionNumber: [] });
});

it("reports unknown symbols, and keeps the stream open", async () => {
  const answers = await ask(
    { case: "fileContainingSymbol", value: "acme.Shop" },
    { case: "fileByFilename", value: "../../etc/passwd" },
    { case: "allExtensionNumbersOfType", value: "acme.Shop" },
    {
      case: "fileContainingExtension",
      value: { $typeName: "grpc.reflection.v1.ExtensionRequest", containingType: "acme.Shop", extensionNumber: 7 },
    },
    { case: undefined },
    { case: "listServices", value: "" },
  );
  expect(answers.slice(0, 5).map(errorOf)).toEqual([
    [Code.NotFound, 'there is no symbol "acme.Shop"'],
    [Code.NotFound, 'there is no file "../../etc/passwd"'],
    [Code.NotFound, 'there is no message "acme.Shop"'],
    [Code.NotFound, '"acme.Shop" has no extension 7'],
    [Code.InvalidArgument, "the request asks for nothing: message_request is not set"],
  ]);
  expect(answers[5]?.case).toBe("listServicesResponse");
});

it("answers any text with an answer", async () => {
  const cases = ["fileContainingSymbol", "fileByFilename", "allExtensionNumbersOfType"] as const;
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...cases), fc.string(), async (kind, value) => {
      expect((await ask({ case: kind, value }))[0]?.case).toBe("errorResponse");
    }),
  );
});

it("leaves out services without a proto file, wherever they were added", async () => {
  const mixed = createRouter().add(ShopDef, shop);
  addReflection(mixed);
  mixed.add({ ...ShopDef, selector: { version: "2" } }, shop);
  const [listed] = await askOf(mixed, { case: "listServices", value: "" });
  expect(JSON.stringify(listed)).not.toContain(ShopDef.typeName);
});

it("takes at most 1,000 requests on a stream", async () => {
  const questions = Array.from({ length: 1001 }, (): Question => ({ case: "listServices", value: "" }));
  expect(await ask(...questions.slice(1))).toHaveLength(1000);
  const { code, rawMessage } = await failureOf(ask(...questions));
  expect(code).toBe(Code.ResourceExhausted);
  expect(rawMessage).toContain("at most 1000 requests");
});

describe("a service whose file its messages do not lead to", () => {
  const nothing = {};
  const missing =
    "reflection cannot find the proto file that declares fixture.services.v1.EmptyService, because the messages of its " +
    "methods are declared in other files; pass the file in the option files, as in addReflection(server, { files: [file_…] })";

  it("is refused if it was added before", () => {
    const before = createRouter().add(EmptyServiceDef, nothing);
    expect(() => addReflection(before)).toThrow(new TypeError(missing));
    expect(before.services).toHaveLength(1);
  });

  it("is not found if it was added later, and the response gives the reason", async () => {
    const later: Router = createRouter();
    addReflection(later);
    later.add(EmptyServiceDef, nothing);
    const value = "fixture.services.v1.EmptyService";
    expect(errorOf((await askOf(later, { case: "fileContainingSymbol", value }))[0])).toEqual([Code.NotFound, missing]);
  });

  /** An implementation whose methods are not called. */
  const stubs = ({ methods }: { readonly methods: object }): never =>
    Object.fromEntries(Object.keys(methods).map((name) => [name, () => ({})])) as never;

  it("is found with the option files", async () => {
    const given = createRouter().add(WellknownServiceDef, stubs(WellknownServiceDef));
    expect(() => addReflection(given)).toThrow("option files");
    addReflection(given, { files: [file_fixture_wellknown_v1_wellknown] });
    const value = "fixture.wellknown.v1.WellknownService";
    const [answer] = await askOf(given, { case: "fileContainingSymbol", value });
    expect(filesOf(answer)[0]).toBe("fixture/wellknown/v1/wellknown.proto");
    expect(filesOf(answer)).toContain("google/protobuf/duration.proto");
  });

  it("is found next to a service of its file", () => {
    const both = createRouter().add(EmptyServiceDef, nothing).add(FirstServiceDef, stubs(FirstServiceDef));
    expect(() => addReflection(both)).not.toThrow();
  });
});
