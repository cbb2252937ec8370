/** The functional cases of gRPC's interop description, in its order, on stubs with any transport. */
import { deepStrictEqual as equal, ok } from "node:assert/strict";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, codeName, Metadata, RpcError } from "triple-es";
import type { ResponseParametersSchema, SimpleRequest } from "./gen/grpc/testing/messages_pb.ts";
import type {
  SimpleRequestInit,
  StreamingInputCallRequestInit,
  StreamingOutputCallRequestInit,
  TestServiceClient,
  UnimplementedServiceClient,
} from "./gen/grpc/testing/test_triple.ts";
import { ECHO_INITIAL, ECHO_TRAILING } from "./service.ts";
import type { CompressionWatch } from "./watch.ts";

/** The environment of a case. */
export interface Subject {
  readonly client: TestServiceClient;
  /** The same calls, with requests compressed by gzip. */
  readonly compressing: TestServiceClient;
  readonly unimplemented: UnimplementedServiceClient;
  /** Absent if a library does not expose whether messages are compressed. Then responses are not checked for it. */
  readonly watch?: CompressionWatch;
}

type Case = (subject: Subject) => Promise<void>;

const zeros = (size: number): { readonly body: Uint8Array } => ({ body: new Uint8Array(size) });
const LARGE = { responseSize: 314_159, payload: zeros(271_828) };
const REQUEST_SIZES = [27_182, 8, 1828, 45_904];
const RESPONSE_SIZES = [31_415, 9, 2653, 58_979];
const SPECIAL_MESSAGE = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP \u{1f608}\t\n";

async function* each<T>(...messages: T[]): AsyncGenerator<T, void> {
  yield* messages;
}

async function sizesOf(
  responses: AsyncIterable<{ payload?: { body: Uint8Array } | undefined }>,
  each: (response: object, index: number) => void = () => {},
): Promise<number[]> {
  const sizes: number[] = [];
  for await (const response of responses) {
    each(response, sizes.length);
    sizes.push(response.payload?.body.byteLength ?? 0);
  }
  return sizes;
}

/** Checks the error of a call. */
async function failure(code: Code, call: Promise<unknown> | AsyncIterable<object>): Promise<RpcError> {
  try {
    await (Symbol.asyncIterator in call ? sizesOf(call) : call);
  } catch (error) {
    ok(error instanceof RpcError, String(error));
    equal(codeName(error.code), codeName(code), error.message);
    return error;
  }
  throw new Error(`the call succeeded, but had to fail with ${codeName(code)}`);
}

/** Sends each request after the response to the previous one. */
async function pingPong(
  client: TestServiceClient,
  requests: readonly StreamingOutputCallRequestInit[],
  onResponse: (size: number) => void,
  signal?: AbortSignal,
): Promise<void> {
  let answered = (): void => {};
  async function* paced(): AsyncGenerator<StreamingOutputCallRequestInit, void> {
    for (const request of requests) {
      const answer = new Promise<void>((resolve) => {
        answered = resolve;
      });
      yield request;
      await answer;
    }
  }
  for await (const { payload } of client.fullDuplexCall(paced(), { signal })) {
    onResponse(payload?.body.byteLength ?? 0);
    answered();
  }
}

const duplexRequest = (
  responseSize: number,
  requestSize: number,
  more: MessageInitShape<typeof ResponseParametersSchema> = {},
): StreamingOutputCallRequestInit => ({
  responseParameters: [{ size: responseSize, ...more }],
  payload: zeros(requestSize),
});

type MessageInit = Exclude<SimpleRequestInit, SimpleRequest>;

async function large(client: TestServiceClient, more: MessageInit = {}): Promise<object> {
  const response = await client.unaryCall({ ...LARGE, ...more });
  equal(response.payload?.body.byteLength, 314_159);
  return response;
}

export const cases = {
  async empty_unary({ client }) {
    await client.emptyCall({});
  },

  async large_unary({ client }) {
    await large(client);
  },

  async client_compressed_unary({ client, compressing }) {
    const expectCompressed = { value: true };
    await failure(Code.InvalidArgument, client.unaryCall({ ...LARGE, expectCompressed }));
    await large(compressing, { expectCompressed });
    await large(client, { expectCompressed: { value: false } });
  },

  async server_compressed_unary({ client, watch }) {
    for (const value of [true, false]) {
      const response = await large(client, { responseCompressed: { value } });
      if (watch !== undefined) equal(watch.wasCompressed(response), value);
    }
  },

  async client_streaming({ client }) {
    const requests = each(...REQUEST_SIZES.map((size) => ({ payload: zeros(size) })));
    equal((await client.streamingInputCall(requests)).aggregatedPayloadSize, 74_922);
  },

  async client_compressed_streaming({ client, compressing, watch }) {
    const compressed: StreamingInputCallRequestInit = { expectCompressed: { value: true }, payload: zeros(27_182) };
    const plain: StreamingInputCallRequestInit = { expectCompressed: { value: false }, payload: zeros(45_904) };
    await failure(Code.InvalidArgument, client.streamingInputCall(each(compressed)));
    const requests = watch === undefined ? each(compressed) : each(compressed, watch.plain(plain));
    const { aggregatedPayloadSize } = await compressing.streamingInputCall(requests);
    equal(aggregatedPayloadSize, watch === undefined ? 27_182 : 73_086);
  },

  async server_streaming({ client }) {
    const responses = client.streamingOutputCall({ responseParameters: RESPONSE_SIZES.map((size) => ({ size })) });
    equal(await sizesOf(responses), RESPONSE_SIZES);
  },

  async server_compressed_streaming({ client, watch }) {
    const responseParameters = [
      { compressed: { value: true }, size: 31_415 },
      { compressed: { value: false }, size: 92_653 },
    ];
    const sizes = await sizesOf(client.streamingOutputCall({ responseParameters }), (response, i) => {
      if (watch !== undefined) equal(watch.wasCompressed(response), responseParameters[i]?.compressed.value);
    });
    equal(sizes, [31_415, 92_653]);
  },

  async ping_pong({ client }) {
    const sizes: number[] = [];
    const requests = RESPONSE_SIZES.map((size, i) => duplexRequest(size, REQUEST_SIZES[i] as number));
    await pingPong(client, requests, (size) => sizes.push(size));
    equal(sizes, RESPONSE_SIZES);
  },

  async empty_stream({ client }) {
    equal(await sizesOf(client.fullDuplexCall(each())), []);
  },

  async custom_metadata({ client }) {
    const binary = Uint8Array.of(0xab, 0xab, 0xab);
    const headers = new Metadata({ [ECHO_INITIAL]: "test_initial_metadata_value" });
    headers.append(ECHO_TRAILING, binary);
    for (const kind of ["unary", "stream"]) {
      let [received, trailers] = [new Metadata(), new Metadata()];
      const options = {
        headers,
        onHeaders: (metadata: Metadata) => {
          received = metadata;
        },
        onTrailers: (metadata: Metadata) => {
          trailers = metadata;
        },
      };
      if (kind === "unary") await client.unaryCall(LARGE, options);
      else equal(await sizesOf(client.fullDuplexCall(each(duplexRequest(314_159, 271_828)), options)), [314_159]);
      equal(received.get(ECHO_INITIAL), "test_initial_metadata_value");
      equal(Uint8Array.from(trailers.getBinary(ECHO_TRAILING) ?? []), binary);
    }
  },

  async status_code_and_message({ client }) {
    const responseStatus = { code: Code.Unknown, message: "test status message" };
    const calls = [client.unaryCall({ responseStatus }), client.fullDuplexCall(each({ responseStatus }))];
    for (const call of calls) equal((await failure(Code.Unknown, call)).rawMessage, "test status message");
  },

  async special_status_message({ client }) {
    const responseStatus = { code: Code.Unknown, message: SPECIAL_MESSAGE };
    equal((await failure(Code.Unknown, client.unaryCall({ responseStatus }))).rawMessage, SPECIAL_MESSAGE);
  },

  async unimplemented_method({ client }) {
    await failure(Code.Unimplemented, client.unimplementedCall({}));
  },

  async unimplemented_service({ unimplemented }) {
    await failure(Code.Unimplemented, unimplemented.unimplementedCall({}));
  },

  async cancel_after_begin({ client }) {
    const controller = new AbortController();
    const never: AsyncIterable<StreamingInputCallRequestInit> = {
      [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
    };
    const call = client.streamingInputCall(never, { signal: controller.signal });
    setTimeout(() => controller.abort(), 20);
    await failure(Code.Canceled, call);
  },

  async cancel_after_first_response({ client }) {
    const controller = new AbortController();
    const requests = [duplexRequest(31_415, 27_182), duplexRequest(9, 8)];
    const call = pingPong(client, requests, () => controller.abort(), controller.signal);
    await failure(Code.Canceled, call);
  },

  async timeout_on_sleeping_server({ client }) {
    const requests = each(duplexRequest(31_415, 27_182, { intervalUs: 1_000_000 }));
    await failure(Code.DeadlineExceeded, client.fullDuplexCall(requests, { timeoutMs: 1 }));
  },

  async very_large_request({ client }) {
    const { payload } = await client.unaryCall({ responseSize: 10, payload: zeros(10_485_760) });
    equal(payload?.body.byteLength, 10);
  },
} satisfies Readonly<Record<string, Case>>;

export type CaseName = keyof typeof cases;
export const caseNames = Object.keys(cases) as CaseName[];

/** The cases that require a library to expose or control the compression of messages. */
const COMPRESSION_CASES: readonly CaseName[] = [
  "client_compressed_unary",
  "server_compressed_unary",
  "client_compressed_streaming",
  "server_compressed_streaming",
];
export const uncompressedCases = caseNames.filter((name) => !COMPRESSION_CASES.includes(name));

/**
 * Steps that are skipped without a {@link CompressionWatch}: checks of responses, and an uncompressed message in a
 * compressed stream.
 */
export const partialCases: readonly CaseName[] = COMPRESSION_CASES.filter((name) => name !== "client_compressed_unary");
