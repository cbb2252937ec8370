/** The suite's service on generated stubs, and the servers that have it. */
import { setTimeout as delay } from "node:timers/promises";
import { create, type DescMessage, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import { type Any, anyPack } from "@bufbuild/protobuf/wkt";
import { type HandlerContext, protoCodec } from "triple-es";
import { createServer, type Server, type ServerOptions } from "triple-es/node";
import { compressions } from "./compressions.ts";
import {
  BidiStreamRequestSchema,
  ClientStreamRequestSchema,
  ConformancePayload_RequestInfoSchema,
  type ConformancePayloadSchema,
  IdempotentUnaryRequestSchema,
  ServerStreamRequestSchema,
  type StreamResponseDefinition,
  UnaryRequestSchema,
  type UnaryResponseDefinition,
} from "./gen/connectrpc/conformance/v1/service_pb.ts";
import {
  ConformanceServiceDef,
  type ConformanceServiceHandler,
} from "./gen/connectrpc/conformance/v1/service_triple.ts";
import { appendHeaders, jsonCodec, toHeaders, toRpcError } from "./translation.ts";

type Payload = MessageInitShape<typeof ConformancePayloadSchema>;
type RequestInfo = MessageInitShape<typeof ConformancePayload_RequestInfoSchema>;

/** Describes the request as the service received it. */
function requestInfo(context: HandlerContext, requests: Any[]): RequestInfo {
  const timeoutMs = context.timeoutMs();
  return {
    requestHeaders: toHeaders(context.requestHeaders),
    requests,
    ...(timeoutMs === undefined ? {} : { timeoutMs: BigInt(Math.round(timeoutMs)) }),
  };
}

function pack<Desc extends DescMessage>(type: Desc, message: Message): Any {
  return anyPack(type, message as never);
}

function infoDetail(info: RequestInfo): Any {
  return anyPack(ConformancePayload_RequestInfoSchema, create(ConformancePayload_RequestInfoSchema, info));
}

/** Answers a call that has one response. */
async function answer(
  definition: UnaryResponseDefinition | undefined,
  context: HandlerContext,
  requests: Any[],
): Promise<{ payload: Payload }> {
  const info = requestInfo(context, requests);
  if (definition === undefined) return { payload: { requestInfo: info } };
  appendHeaders(context.responseHeaders, definition.responseHeaders);
  appendHeaders(context.responseTrailers, definition.responseTrailers);
  if (definition.responseDelayMs > 0) await delay(definition.responseDelayMs);
  const { response } = definition;
  if (response.case === "error") throw toRpcError(response.value, [infoDetail(info)]);
  return { payload: { requestInfo: info, ...(response.case === undefined ? {} : { data: response.value }) } };
}

/** Sends the headers of a stream before any message. */
function start(definition: StreamResponseDefinition | undefined, context: HandlerContext): void {
  if (definition !== undefined) {
    appendHeaders(context.responseHeaders, definition.responseHeaders);
    appendHeaders(context.responseTrailers, definition.responseTrailers);
  }
  context.sendHeaders();
}

/** Sends the remaining responses. The first one describes the request. */
async function* rest(
  definition: StreamResponseDefinition | undefined,
  context: HandlerContext,
  requests: Any[],
  sent = 0,
): AsyncGenerator<{ payload: Payload }> {
  const data = definition?.responseData ?? [];
  for (let i = sent; i < data.length; i++) {
    if (definition !== undefined && definition.responseDelayMs > 0) await delay(definition.responseDelayMs);
    const first = i === 0 ? { requestInfo: requestInfo(context, requests) } : {};
    yield { payload: { data: data[i] as Uint8Array, ...first } };
  }
  fail(definition, data.length === 0 && sent === 0 ? [infoDetail(requestInfo(context, requests))] : []);
}

function fail(definition: StreamResponseDefinition | undefined, details: Any[]): void {
  if (definition?.error !== undefined) throw toRpcError(definition.error, details);
}

const service: Omit<ConformanceServiceHandler, "unimplemented"> = {
  unary: (request, context) => answer(request.responseDefinition, context, [pack(UnaryRequestSchema, request)]),
  idempotentUnary: (request, context) =>
    answer(request.responseDefinition, context, [pack(IdempotentUnaryRequestSchema, request)]),

  async *serverStream(request, context) {
    start(request.responseDefinition, context);
    yield* rest(request.responseDefinition, context, [pack(ServerStreamRequestSchema, request)]);
  },

  async clientStream(requests, context) {
    const seen: Any[] = [];
    let definition: UnaryResponseDefinition | undefined;
    for await (const request of requests) {
      if (seen.length === 0) definition = request.responseDefinition;
      seen.push(pack(ClientStreamRequestSchema, request));
    }
    return answer(definition, context, seen);
  },

  async *bidiStream(requests, context) {
    let definition: StreamResponseDefinition | undefined;
    let fullDuplex = false;
    let seen: Any[] = [];
    let received = 0;
    let sent = 0;
    for await (const request of requests) {
      if (received++ === 0) {
        definition = request.responseDefinition;
        fullDuplex = request.fullDuplex;
        start(definition, context);
      }
      seen.push(pack(BidiStreamRequestSchema, request));
      if (!fullDuplex) continue;
      const data = definition?.responseData[sent];
      if (data === undefined) break;
      if (definition !== undefined && definition.responseDelayMs > 0) await delay(definition.responseDelayMs);
      const info = sent === 0 ? requestInfo(context, seen) : { requests: seen };
      yield { payload: { data, requestInfo: info } };
      seen = [];
      sent++;
    }
    if (received === 0) context.sendHeaders();
    yield* rest(definition, context, seen, sent);
  },
};

/** A server with the service. */
export const createConformanceServer = (options: ServerOptions): Server =>
  createServer({ codecs: [protoCodec, jsonCodec], compressions, onError: () => {}, ...options }).add(
    ConformanceServiceDef,
    service as ConformanceServiceHandler,
  );
