/**
 * Other clients of gRPC-Web in a page: each makes a call, reads a stream, and receives an error with metadata. The test
 * bundles `judge` for a browser; it returns the results by package name.
 */
import { createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { GrpcWebFetchTransport } from "@protobuf-ts/grpcweb-transport";
import { MessageType } from "@protobuf-ts/runtime";
import { ServiceType, stackIntercept } from "@protobuf-ts/runtime-rpc";
import { GrpcWebClientBase, MethodDescriptor } from "grpc-web";
import { createChannel, createClient as createNiceClient, Metadata } from "nice-grpc-web";
import { GreetService } from "../../../examples/gen/greet/v1/greet_pb.ts";

const SERVICE = "greet.v1.GreetService";
const scalar = (no, name, repeat) => ({ no, name, kind: "scalar", T: 9, ...(repeat && { repeat: 2 }) });
const GreetRequest = new MessageType("greet.v1.GreetRequest", [scalar(1, "name")]);
const GreetResponse = new MessageType("greet.v1.GreetResponse", [scalar(1, "greeting")]);
const GreetEachRequest = new MessageType("greet.v1.GreetEachRequest", [scalar(1, "names", true)]);

/** The outcome of a failed call, as far as all clients expose it. */
const outcome = (code, message, why) => ({ code, message: decodeURIComponent(message), why });

async function collect(responses) {
  const greetings = [];
  for await (const { greeting } of responses) greetings.push(greeting);
  return greetings;
}

async function connectWeb(baseUrl, useBinaryFormat) {
  const client = createClient(GreetService, createGrpcWebTransport({ baseUrl, useBinaryFormat }));
  return {
    greet: (await client.greet({ name: "Ada" })).greeting,
    stream: await collect(client.greetEach({ names: ["Ada", "Bob"] })),
    error: await client.greet({}).catch((error) => outcome(error.code, error.rawMessage, error.metadata.get("x-why"))),
  };
}

async function protobufTs(baseUrl, format) {
  const transport = new GrpcWebFetchTransport({ baseUrl, format });
  const service = new ServiceType(SERVICE, [
    { name: "Greet", I: GreetRequest, O: GreetResponse },
    { name: "GreetEach", serverStreaming: true, I: GreetEachRequest, O: GreetResponse },
  ]);
  const call = (kind, index, message) =>
    stackIntercept(kind, transport, service.methods[index], transport.mergeOptions({}), message);
  return {
    greet: (await call("unary", 0, { name: "Ada" })).response.greeting,
    stream: await collect(call("serverStreaming", 1, { names: ["Ada", "Bob"] }).responses),
    // This client uses gRPC's names of codes.
    error: await call("unary", 0, { name: "" }).then(
      () => undefined,
      (error) => outcome({ NOT_FOUND: 5 }[error.code], error.message, error.meta["x-why"]),
    ),
  };
}

async function googleGrpcWeb(baseUrl, format) {
  const client = new GrpcWebClientBase({ format });
  const descriptor = (name, kind, I, O) =>
    new MethodDescriptor(
      `/${SERVICE}/${name}`,
      kind,
      Object,
      Object,
      (message) => I.toBinary(I.create(message)),
      (bytes) => O.fromBinary(bytes),
    );
  const greet = descriptor("Greet", "unary", GreetRequest, GreetResponse);
  const each = descriptor("GreetEach", "server_streaming", GreetEachRequest, GreetResponse);
  const unary = (message) => client.unaryCall(`${baseUrl}${greet.getName()}`, message, {}, greet);
  const stream = new Promise((resolve, reject) => {
    const greetings = [];
    client
      .serverStreaming(`${baseUrl}${each.getName()}`, { names: ["Ada", "Bob"] }, {}, each)
      .on("data", ({ greeting }) => greetings.push(greeting))
      .on("error", reject)
      .on("end", () => resolve(greetings));
  });
  return {
    greet: (await unary({ name: "Ada" })).greeting,
    stream: await stream,
    error: await unary({ name: "" }).catch((error) => outcome(error.code, error.message, error.metadata["x-why"])),
  };
}

async function niceGrpcWeb(baseUrl) {
  const method = (name, responseStream, I) => ({
    path: `/${SERVICE}/${name}`,
    requestStream: false,
    responseStream,
    requestSerialize: (message) => I.toBinary(I.create(message)),
    requestDeserialize: (bytes) => I.fromBinary(bytes),
    responseSerialize: (message) => GreetResponse.toBinary(message),
    responseDeserialize: (bytes) => GreetResponse.fromBinary(bytes),
    options: {},
  });
  const service = {
    greet: method("Greet", false, GreetRequest),
    greetEach: method("GreetEach", true, GreetEachRequest),
  };
  const client = createNiceClient(service, createChannel(baseUrl));
  let trailers = new Metadata();
  const onTrailer = (received) => {
    trailers = received;
  };
  return {
    greet: (await client.greet({ name: "Ada" })).greeting,
    stream: await collect(client.greetEach({ names: ["Ada", "Bob"] })),
    error: await client
      .greet({ name: "" }, { onTrailer })
      .catch((error) => outcome(error.code, error.details, trailers.get("x-why"))),
  };
}

const clients = {
  "@connectrpc/connect-web": (baseUrl) => connectWeb(baseUrl, true),
  "@connectrpc/connect-web in JSON": (baseUrl) => connectWeb(baseUrl, false),
  "@protobuf-ts/grpcweb-transport": (baseUrl) => protobufTs(baseUrl, "binary"),
  "@protobuf-ts/grpcweb-transport in text": (baseUrl) => protobufTs(baseUrl, "text"),
  "grpc-web": (baseUrl) => googleGrpcWeb(baseUrl, "binary"),
  "grpc-web in text": (baseUrl) => googleGrpcWeb(baseUrl, "text"),
  "nice-grpc-web": niceGrpcWeb,
};

globalThis.judge = (name, baseUrl) => clients[name](baseUrl);
