/**
 * @grpc/grpc-js: its client below the cases, and its server below the service. It does not expose whether a message was
 * compressed, and cannot send an uncompressed message in a compressed stream.
 */
import { createRequire } from "node:module";
import type { DescMessage } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import {
  type Call,
  type ClosableTransport,
  type Code,
  type HandlerContext,
  Metadata,
  type Method,
  type ProtoMethod,
  protoCodec,
  RpcError,
  type StreamRequest,
} from "triple-es";
import type { Credentials, Target } from "../../peer.ts";
import type { Running } from "../../program.ts";
import { type CaseName, caseNames, cases, partialCases, uncompressedCases } from "../cases.ts";
import {
  createTestServiceClient,
  createUnimplementedServiceClient,
  TestServiceDef,
} from "../gen/grpc/testing/test_triple.ts";
import type { PeerSetup } from "../peer.ts";
import { createTestService } from "../service.ts";
import { MAX_MESSAGE_BYTES } from "../triple.ts";

const LIMITS = { "grpc.max_receive_message_length": MAX_MESSAGE_BYTES };
const GZIP = { "grpc.default_compression_algorithm": grpc.compressionAlgorithms.gzip };

export const setUpGrpcJs: PeerSetup = async (credentials) => ({
  name: "@grpc/grpc-js",
  version: createRequire(import.meta.url)("@grpc/grpc-js/package.json").version,
  credentials,
  clientCases: caseNames,
  partialCases,
  serverCases: uncompressedCases,
  runCase,
  startServer,
});

async function runCase(name: CaseName, target: Target): Promise<void> {
  const [plain, compressing] = [openTransport(target), openTransport(target, GZIP)];
  try {
    await cases[name]({
      client: createTestServiceClient(plain),
      compressing: createTestServiceClient(compressing),
      unimplemented: createUnimplementedServiceClient(plain),
    });
  } finally {
    await Promise.all([plain.close(), compressing.close()]);
  }
}

/** A transport of triple-es on a channel of grpc-js. */
function openTransport({ port, credentials }: Target, options: grpc.ClientOptions = {}): ClosableTransport {
  const trusted =
    credentials === undefined
      ? grpc.credentials.createInsecure()
      : grpc.credentials.createSsl(Buffer.from(credentials.ca));
  const client = new grpc.Client(`127.0.0.1:${port}`, trusted, {
    ...LIMITS,
    ...options,
    ...(credentials === undefined ? {} : { "grpc.ssl_target_name_override": credentials.servername }),
  });
  const call: Call = async (request) => {
    const { method, context } = request;
    const { input, output } = schemasOf(method);
    const timeoutMs = context.timeoutMs();
    const stream = client.makeBidiStreamRequest(
      method.path,
      serialize(input),
      deserialize(output),
      toGrpc(request.headers),
      timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs },
    );
    context.signal?.addEventListener("abort", () => stream.cancel(), { once: true });
    const trailers = new Metadata();
    const headers = new Promise<Metadata>((resolve, reject) => {
      stream.on("metadata", (metadata) => resolve(fromGrpc(metadata)));
      stream.on("error", (error) => reject(fromServiceError(error as grpc.ServiceError)));
      stream.on("status", (status) => {
        trailers.appendAll(fromGrpc(status.metadata));
        resolve(new Metadata());
      });
    });
    if (request.stream) send(request, stream).catch(() => stream.cancel());
    else stream.end(request.message);
    const response = { headers: await headers, trailers };
    const messages = receive(stream);
    if (request.stream) return { ...response, stream: true, messages };
    const received = [];
    for await (const message of messages) received.push(message);
    return { ...response, stream: false, message: received[0] as object };
  };
  return { call, close: async () => client.close() };
}

async function send({ messages }: StreamRequest, stream: grpc.ClientDuplexStream<object, object>): Promise<void> {
  for await (const message of messages) stream.write(message);
  stream.end();
}

async function* receive(stream: grpc.ClientDuplexStream<object, object>): AsyncGenerator<object, void> {
  try {
    yield* stream as AsyncIterable<object>;
  } catch (error) {
    throw fromServiceError(error as grpc.ServiceError);
  }
}

async function startServer(credentials: Credentials | undefined): Promise<Running> {
  const server = new grpc.Server(LIMITS);
  const service = createTestService() as unknown as Record<string, unknown>;
  const methods = Object.entries(TestServiceDef.methods).filter(([name]) => name in service);
  server.addService(
    Object.fromEntries(methods.map(([name, method]) => [name, definitionOf(method)])),
    Object.fromEntries(methods.map(([name, method]) => [name, implement(method, service[name] as Run)])),
  );
  const pair = credentials && { cert_chain: Buffer.from(credentials.cert), private_key: Buffer.from(credentials.key) };
  const own =
    pair === undefined ? grpc.ServerCredentials.createInsecure() : grpc.ServerCredentials.createSsl(null, [pair]);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", own, (error, bound) => (error === null ? resolve(bound) : reject(error)));
  });
  return { port, stop: async () => server.forceShutdown() };
}

/** The services of this test come from proto files. */
function schemasOf({ path, input, output }: Method): Pick<ProtoMethod, "input" | "output"> {
  if (input === undefined || output === undefined) throw new Error(`${path} has no schemas`);
  return { input, output };
}

function definitionOf(method: Method): grpc.MethodDefinition<object, object> {
  const { path, kind } = method;
  const { input, output } = schemasOf(method);
  return {
    path,
    requestStream: kind === "client_streaming" || kind === "bidi_streaming",
    responseStream: kind === "server_streaming" || kind === "bidi_streaming",
    requestSerialize: serialize(input),
    requestDeserialize: deserialize(input),
    responseSerialize: serialize(output),
    responseDeserialize: deserialize(output),
  };
}

type Run = (request: unknown, context: HandlerContext) => unknown;
type ServerCall = grpc.ServerDuplexStream<object, object> & { readonly request?: object };

/**
 * Converts a method of triple-es to an implementation of grpc-js, which has a callback for one response and a stream for
 * many.
 */
function implement({ kind }: Method, run: Run): grpc.UntypedHandleCall {
  const one = kind === "unary" || kind === "client_streaming";
  return async (call: ServerCall, callback?: grpc.sendUnaryData<object>) => {
    const controller = new AbortController();
    call.on("cancelled", () => controller.abort());
    const [responseHeaders, responseTrailers] = [new Metadata(), new Metadata()];
    const sendHeaders = (): void => call.sendMetadata(toGrpc(responseHeaders));
    const requestHeaders = fromGrpc(call.metadata);
    const context = { signal: controller.signal, requestHeaders, responseHeaders, responseTrailers, sendHeaders };
    try {
      // The end of an iteration would destroy the stream, including the side that has not been written yet.
      const result = run(
        call.request ?? call.iterator({ destroyOnReturn: false }),
        context as unknown as HandlerContext,
      );
      if (one) {
        const response = (await result) as object;
        sendHeaders();
        callback?.(null, response, toGrpc(responseTrailers));
        return;
      }
      for await (const response of result as AsyncIterable<object>) call.write(response);
      call.end(toGrpc(responseTrailers));
    } catch (error) {
      const { code, rawMessage } = RpcError.from(error);
      const status = { code: code as number, details: rawMessage, metadata: toGrpc(responseTrailers) };
      if (one) callback?.(status);
      else call.emit("error", Object.assign(new Error(rawMessage), status));
    }
  };
}

const serialize =
  (type: DescMessage) =>
  (message: object): Buffer =>
    Buffer.from(protoCodec.encode(type, message));
const deserialize =
  (type: DescMessage) =>
  (bytes: Buffer): object =>
    protoCodec.decode(type, bytes);

function toGrpc(metadata: Metadata): grpc.Metadata {
  const converted = new grpc.Metadata();
  for (const [name, value] of metadata)
    converted.add(name, name.endsWith("-bin") ? Buffer.from(value, "base64") : value);
  return converted;
}

function fromGrpc(metadata: grpc.Metadata): Metadata {
  const converted = new Metadata();
  for (const name of Object.keys(metadata.getMap())) {
    for (const value of metadata.get(name)) converted.append(name, value);
  }
  return converted;
}

function fromServiceError(error: grpc.ServiceError): RpcError {
  return new RpcError(error.code as number as Code, error.details, { cause: error });
}
