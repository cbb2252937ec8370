/** The option `javaNames`: the paths that Dubbo for Java serves. */
import { Code, Status } from "triple-es";
import { hessian2 } from "triple-es-dubbo/hessian2";
import { describe, expect, it } from "vitest";
import { createGreetServiceClient } from "../../examples/gen/greet/v1/greet_triple.ts";
import { createThingsServiceClient } from "../../fixtures/options/gen/expanded/fixture/options/v1/options_triple.ts";
import { protoCodec } from "../../runtime/src/codec/codec.ts";
import { createGrpcClient } from "../../runtime/src/grpc/client.ts";
import { createHttpRpcClient } from "../../runtime/src/http-rpc/client.ts";
import { resolveClientOptions } from "../../runtime/src/protocol/options.ts";
import { failureOf } from "../support/server.ts";
import { createShopClient } from "../support/shop.ts";

describe.each([
  { name: "http-rpc", protocol: createHttpRpcClient, path: "/org.acme.options.ThingsService/find" },
  { name: "grpc", protocol: createGrpcClient, path: "/org.acme.options.ThingsService/Find" },
])("javaNames over $name", ({ protocol, path }) => {
  const paths: string[] = [];
  const call = protocol(
    async (request) => {
      paths.push(request.path);
      throw new Error("far enough");
    },
    { ...resolveClientOptions({ codec: protoCodec, compressions: [], javaNames: true }), serializations: [hessian2] },
  );
  const transport = { call };

  it("calls methods by their Java names", async () => {
    await failureOf(createThingsServiceClient(transport).find({}));
    expect(paths).toEqual([path]);
  });

  it("calls interface methods by their own path", async () => {
    paths.length = 0;
    await failureOf(createShopClient(transport).sayHi("Ada", "Hi"));
    expect(paths).toEqual(["/com.acme.Shop/sayHi"]);
  });

  it("fails for code that was generated without them", async () => {
    const { code, status, rawMessage } = await failureOf(createGreetServiceClient(transport).greet({}));
    expect([code, status]).toEqual([Code.InvalidArgument, Status.ClientError]);
    expect(rawMessage).toContain("java_names=true");
  });
});
