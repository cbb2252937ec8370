/** The descriptor of an rpc and its options, for example for authorization by option. */
import { createRegistry, getOption } from "@bufbuild/protobuf";
import { Code, createInMemoryTransport, createRouter, descriptorOf, type Method, type ServiceDef } from "triple-es";
import { addReflection } from "triple-es/reflection";
import { describe, expect, it } from "vitest";
import { method_note } from "../../fixtures/gen/fixture/custom/v1/annotations_pb.ts";
import { CustomService } from "../../fixtures/gen/fixture/custom/v1/custom_pb.ts";
import {
  CustomService_call,
  CustomServiceDef,
  createCustomServiceClient,
} from "../../fixtures/gen/fixture/custom/v1/custom_triple.ts";
import { ImportsService_elsewhere, ImportsService_here } from "../../fixtures/gen/fixture/imports/v1/imports_triple.ts";
import { Names_own } from "../../fixtures/interface/gen/names_triple.ts";
import { authorize } from "../../fixtures/options/authorization.ts";
import { ThingsService } from "../../fixtures/options/gen/descriptors/fixture/options/v1/options_pb.ts";
import {
  ThingsService_hTTPGet,
  ThingsServiceDef,
} from "../../fixtures/options/gen/descriptors/fixture/options/v1/options_triple.ts";
import { ThingsService_find } from "../../fixtures/options/gen/json/fixture/options/v1/options_triple.ts";

describe("descriptorOf", () => {
  it("finds the rpc in the proto file of its messages, the same object every time", () => {
    expect(descriptorOf(CustomService_call)).toBe(CustomService.method.call);
    expect(descriptorOf(CustomService_call)).toBe(CustomService.method.call);
    expect(descriptorOf(ImportsService_here)?.toString()).toBe("rpc fixture.imports.v1.ImportsService.Here");
  });

  it("contains the custom options of the rpc", () => {
    const descriptor = descriptorOf(CustomService_call);
    expect(descriptor && getOption(descriptor, method_note)).toBe("*/ on the rpc");
  });

  it("throws for an rpc whose messages are of other files, with the option to generate it", () => {
    const attempt = () => descriptorOf(ImportsService_elsewhere);
    expect(attempt).toThrow(TypeError);
    expect(attempt).toThrow(
      "the descriptor of /fixture.imports.v1.ImportsService/Elsewhere cannot be found, because its messages are " +
        "declared in other proto files: generate it with descriptors=true",
    );
  });

  it("finds such an rpc in code generated with descriptors", () => {
    expect(descriptorOf(ThingsService_hTTPGet)).toBe(ThingsService.method.hTTPGet);
  });

  it("is undefined for plain JSON and for methods of Java interfaces", () => {
    expect(descriptorOf(ThingsService_find)).toBeUndefined();
    expect(descriptorOf(Names_own)).toBeUndefined();
  });
});

describe("a server that authorizes by option", () => {
  const router = createRouter().add(CustomServiceDef, { call: () => ({}) }, { interceptors: [authorize] });
  const client = createCustomServiceClient(createInMemoryTransport(router));

  it("answers callers that fulfil it and refuses others", async () => {
    await expect(client.call({}, { headers: { "x-role": "admin" } })).resolves.toBeDefined();
    await expect(client.call({}, { headers: { "x-role": "guest" } })).rejects.toMatchObject({
      code: Code.PermissionDenied,
      rawMessage: "/fixture.custom.v1.CustomService/Call needs the role admin",
    });
    await expect(client.call({})).rejects.toMatchObject({ code: Code.PermissionDenied });
  });
});

describe("reflection", () => {
  const foreign = (methods: Record<string, Method>): ServiceDef<object, object> => ({
    typeName: "fixture.options.v1.ThingsService",
    methods,
  });

  it("finds the file of a service by its descriptors if its messages do not refer to it", () => {
    const { descriptor: _, ...withoutDescriptor } = ThingsService_hTTPGet;
    const hTTPGet = (): object => ({});
    expect(() => addReflection(createRouter().add(foreign({ hTTPGet: withoutDescriptor }), { hTTPGet }))).toThrow(
      "reflection cannot find the proto file that declares fixture.options.v1.ThingsService",
    );
    expect(() =>
      addReflection(createRouter().add(foreign({ hTTPGet: ThingsService_hTTPGet }), { hTTPGet })),
    ).not.toThrow();
    expect(Object.values(ThingsServiceDef.methods).map((method) => descriptorOf(method)?.parent.typeName)).toEqual(
      Array(5).fill("fixture.options.v1.ThingsService"),
    );
    expect(createRegistry(ThingsService).getService("fixture.options.v1.ThingsService")).toBe(ThingsService);
  });
});
