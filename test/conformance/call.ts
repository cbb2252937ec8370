/** The calls of the clients under test: what the runner describes, and its result. */
import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { type ClosableTransport, Metadata, RpcError, type Transport } from "triple-es";
import { defer } from "../../runtime/src/call/platform.ts";
import { delay } from "../../runtime/src/call/timer.ts";
import type {
  ClientCompatRequest,
  ClientCompatResponseSchema,
} from "./gen/connectrpc/conformance/v1/client_compat_pb.ts";
import { StreamType } from "./gen/connectrpc/conformance/v1/config_pb.ts";
import {
  BidiStreamRequestSchema,
  ClientStreamRequestSchema,
  type ConformancePayload,
  ConformancePayloadSchema,
  IdempotentUnaryRequestSchema,
  ServerStreamRequestSchema,
  UnaryRequestSchema,
  UnimplementedRequestSchema,
} from "./gen/connectrpc/conformance/v1/service_pb.ts";
import { createConformanceServiceClient } from "./gen/connectrpc/conformance/v1/service_triple.ts";
import { appendHeaders, fromRpcError, toHeaders } from "./translation.ts";

/** The result of a call so far. It is reported even if the call fails. */
class Outcome {
  readonly payloads: ConformancePayload[] = [];
  headers = new Metadata();
  trailers = new Metadata();
  error: RpcError | undefined;

  add({ payload }: { payload?: ConformancePayload | undefined }): void {
    this.payloads.push(payload ?? create(ConformancePayloadSchema));
  }
}

/** Creates the transport of a call. */
export type Connect = (request: ClientCompatRequest) => ClosableTransport;

async function makeCall(request: ClientCompatRequest, transport: Transport): Promise<Outcome> {
  const client = createConformanceServiceClient(transport);
  const outcome = new Outcome();
  const controller = new AbortController();
  const { cancelTiming } = request.cancel ?? {};
  const headers = new Metadata();
  appendHeaders(headers, request.requestHeaders);
  const options = {
    headers,
    signal: controller.signal,
    timeoutMs: request.timeoutMs,
    onHeaders: (received: Metadata) => {
      outcome.headers = received;
    },
    onTrailers: (received: Metadata) => {
      outcome.trailers = received;
    },
  };

  const cancelAfterSend = async (): Promise<void> => {
    if (request.cancel === undefined || cancelTiming?.case === "afterNumResponses") return;
    if (cancelTiming?.case === "afterCloseSendMs") await delay(cancelTiming.value);
    controller.abort();
  };

  /** In full duplex, each request waits for the response to the previous one. */
  const fullDuplex = request.streamType === StreamType.FULL_DUPLEX_BIDI_STREAM;
  let responded = (): void => {};

  /** Yields the request messages at the requested pace. */
  async function* send<Desc extends DescMessage>(type: Desc) {
    for (const any of request.requestMessages) {
      if (request.requestDelayMs > 0) await delay(request.requestDelayMs);
      const message = anyUnpack(any, type);
      if (message === undefined) throw new Error(`${any.typeUrl} is not ${type.typeName}`);
      const response = new Promise<void>((resolve) => {
        responded = resolve;
      });
      yield message;
      if (fullDuplex) await response;
    }
    if (cancelTiming?.case === "beforeCloseSend") {
      controller.abort();
      // The sending side stays open until the cancellation takes effect.
      await delay(10);
    } else {
      // The end of this generator half-closes the call, and the cancellation follows.
      defer(() => void cancelAfterSend());
    }
  }

  async function only<Desc extends DescMessage>(type: Desc) {
    for await (const message of send(type)) return message;
    throw new Error("the test has no request message");
  }

  async function receive(responses: AsyncIterable<{ payload?: ConformancePayload | undefined }>): Promise<void> {
    for await (const response of responses) {
      outcome.add(response);
      responded();
      if (cancelTiming?.case === "afterNumResponses" && outcome.payloads.length >= cancelTiming.value)
        controller.abort();
    }
  }

  try {
    switch (request.method) {
      case "Unary": {
        const message = await only(UnaryRequestSchema);
        if (request.cancel !== undefined) defer(() => void cancelAfterSend());
        outcome.add(await client.unary(message, options));
        break;
      }
      case "IdempotentUnary":
        outcome.add(await client.idempotentUnary(await only(IdempotentUnaryRequestSchema), options));
        break;
      case "Unimplemented":
        await client.unimplemented(await only(UnimplementedRequestSchema), options);
        break;
      case "ServerStream": {
        const message = await only(ServerStreamRequestSchema);
        if (request.cancel !== undefined) defer(() => void cancelAfterSend());
        await receive(client.serverStream(message, options));
        break;
      }
      case "ClientStream":
        outcome.add(await client.clientStream(send(ClientStreamRequestSchema), options));
        break;
      case "BidiStream":
        await receive(client.bidiStream(send(BidiStreamRequestSchema), options));
        break;
      default:
        throw new Error(`no such method: ${request.method}`);
    }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    outcome.error = error;
    if (outcome.headers.size === 0) outcome.headers = error.headers;
    outcome.trailers = error.trailers;
  }
  return outcome;
}

/** Makes the call of a request, and returns its result, a failure of the client included. */
export async function answer(
  request: ClientCompatRequest,
  connect: Connect,
): Promise<MessageInitShape<typeof ClientCompatResponseSchema>> {
  const { testName } = request;
  const transport = connect(request);
  try {
    const { payloads, headers, trailers, error } = await makeCall(request, transport);
    return {
      testName,
      result: {
        case: "response",
        value: {
          payloads,
          responseHeaders: toHeaders(headers),
          responseTrailers: toHeaders(trailers),
          ...(error === undefined ? {} : { error: fromRpcError(error) }),
        },
      },
    };
  } catch (error) {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { testName, result: { case: "error", value: { message } } };
  } finally {
    await transport.close();
  }
}
