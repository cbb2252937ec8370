/**
 * The interop test service, as gRPC describes it.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Code, type HandlerContext, RpcError } from "triple-es";
import type {
  BoolValue,
  EchoStatus,
  ResponseParameters,
  SimpleRequest,
  StreamingOutputCallRequest,
} from "./gen/grpc/testing/messages_pb.ts";
import type { StreamingOutputCallResponseInit, TestServiceHandler } from "./gen/grpc/testing/test_triple.ts";
import type { CompressionWatch } from "./watch.ts";

export const ECHO_INITIAL = "x-grpc-test-echo-initial";
export const ECHO_TRAILING = "x-grpc-test-echo-trailing-bin";

/** Every method except the one that no server implements. */
export type TestService = Omit<TestServiceHandler, "unimplementedCall">;

/** Creates the service. Without a watch, it neither observes nor controls compression. */
export function createTestService(watch?: CompressionWatch): TestService {
  function expectCompressed(message: object, expected: BoolValue | undefined): void {
    if (watch === undefined || expected === undefined || watch.wasCompressed(message) === expected.value) return;
    throw new RpcError(Code.InvalidArgument, `expected the message to be ${expected.value ? "" : "un"}compressed`);
  }

  function marked<R extends object>(compressed: BoolValue | undefined, response: R): R {
    return compressed?.value === false && watch !== undefined ? watch.plain(response) : response;
  }

  async function* respond(
    parameters: readonly ResponseParameters[],
    { signal }: HandlerContext,
  ): AsyncGenerator<StreamingOutputCallResponseInit> {
    for (const { size, intervalUs, compressed } of parameters) {
      if (intervalUs > 0) await delay(intervalUs / 1000);
      if (signal.aborted) return;
      yield marked(compressed, { payload: { body: new Uint8Array(size) } });
    }
  }

  return {
    emptyCall: () => ({}),

    unaryCall(request: SimpleRequest, context: HandlerContext) {
      echoMetadata(context);
      expectCompressed(request, request.expectCompressed);
      endWith(request.responseStatus);
      const { responseSize, responseCompressed } = request;
      return marked(responseCompressed, { payload: { body: new Uint8Array(responseSize) } });
    },

    async *streamingOutputCall(request: StreamingOutputCallRequest, context: HandlerContext) {
      echoMetadata(context);
      yield* respond(request.responseParameters, context);
      endWith(request.responseStatus);
    },

    async streamingInputCall(requests) {
      let aggregatedPayloadSize = 0;
      for await (const request of requests) {
        expectCompressed(request, request.expectCompressed);
        aggregatedPayloadSize += request.payload?.body.byteLength ?? 0;
      }
      return { aggregatedPayloadSize };
    },

    async *fullDuplexCall(requests, context) {
      echoMetadata(context);
      context.sendHeaders();
      for await (const request of requests) {
        endWith(request.responseStatus);
        yield* respond(request.responseParameters, context);
      }
    },
  };
}

/** Returns the metadata that the metadata case requests. */
function echoMetadata({ requestHeaders, responseHeaders, responseTrailers }: HandlerContext): void {
  for (const value of requestHeaders.getAll(ECHO_INITIAL)) responseHeaders.append(ECHO_INITIAL, value);
  for (const value of requestHeaders.getAll(ECHO_TRAILING)) responseTrailers.append(ECHO_TRAILING, value);
}

function endWith(status: EchoStatus | undefined): void {
  if (status === undefined || status.code === 0) return;
  throw new RpcError(status.code as Code, status.message);
}
