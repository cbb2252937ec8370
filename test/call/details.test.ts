/** The standard details of errors, `google.rpc.*`, from a handler to a client in both sub-protocols. */
import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code, type ErrorDetail, findDetails, RpcError } from "triple-es";
import { expect, it } from "vitest";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../fixtures/gen/google/rpc/error_details_pb.ts";
import { connectGreeter, failureOf, startServer } from "../support/server.ts";

function detail<Desc extends DescMessage>(type: Desc, init: MessageInitShape<Desc>): ErrorDetail {
  return anyPack(type, create(type, init));
}

const name = { field: "name", description: "must not be empty", reason: "EMPTY" };
const fail = (): never => {
  throw new RpcError(Code.InvalidArgument, "the name is missing", {
    details: [
      detail(BadRequestSchema, { fieldViolations: [name, { field: "names[0]" }] }),
      detail(RetryInfoSchema, { retryDelay: { seconds: 2n, nanos: 5 } }),
      detail(ErrorInfoSchema, { reason: "NO_NAME", domain: "greet.test", metadata: { name: "" } }),
      detail(ErrorInfoSchema, { reason: "AGAIN" }),
    ],
  });
};

it.each([
  ["grpc", "proto", "greet"],
  ["grpc", "json", "greet"],
  ["grpc", "proto", "greetEach"],
  ["http-rpc", "proto", "greet"],
  ["http-rpc", "json", "greet"],
] as const)("over %s in %s, of %s", async (protocol, codec, method) => {
  const { baseUrl } = await startServer({
    greet: fail,
    async *greetEach() {
      yield {};
      fail();
    },
  });
  const error = await failureOf(connectGreeter(baseUrl, { protocol, codec })[method]({}));
  expect([error.code, error.rawMessage]).toEqual([Code.InvalidArgument, "the name is missing"]);
  const [violations] = findDetails(error, BadRequestSchema);
  expect(violations?.fieldViolations).toMatchObject([name, { field: "names[0]", description: "" }]);
  expect(findDetails(error, RetryInfoSchema)).toMatchObject([{ retryDelay: { seconds: 2n, nanos: 5 } }]);
  expect(findDetails(error, ErrorInfoSchema)).toMatchObject([
    { reason: "NO_NAME", domain: "greet.test", metadata: { name: "" } },
    { reason: "AGAIN" },
  ]);
});
