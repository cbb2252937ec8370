/** The cases of sub-protocol B with proto files, run by the client of triple-es. */
import { deepStrictEqual as equal, ok } from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { fromBinary } from "@bufbuild/protobuf";
import { Code, codeName, type Metadata, RpcError } from "triple-es";
import { attachments, readAttachments } from "triple-es-dubbo/java";
import { HealthCheckResponse_ServingStatus } from "../../../runtime/src/gen/grpc/health/v1/health_pb.ts";
import type { HealthClient } from "../../../runtime/src/gen/grpc/health/v1/health_triple.ts";
import { ErrorInfoSchema } from "./gen/google/rpc/error_details_pb.ts";
import type { PeerResponse } from "./gen/interop/v1/peer_pb.ts";
import type { PeerRequestInit, PeerServiceClient } from "./gen/interop/v1/peer_triple.ts";
import { TRAILING_BYTES } from "./service.ts";

/** The environment of a case. */
export interface Subject {
  readonly client: PeerServiceClient;
  /** The same service under other names. */
  select(group?: string, version?: string): PeerServiceClient;
  /** A client that compresses all messages, and the numbers of compressed and decompressed messages. */
  readonly compressing: PeerServiceClient;
  readonly compressions: { compressed: number; inflated: number };
  /** A client of a service that peers do not have. */
  readonly unknown: PeerServiceClient;
  readonly health: HealthClient;
}

type Case = (subject: Subject) => Promise<void>;

export const SPECIAL_MESSAGE = "100% wrong: ü\n☺";

async function* each<T>(...messages: T[]): AsyncGenerator<T, void> {
  yield* messages;
}

async function textsOf(responses: AsyncIterable<PeerResponse>, texts: string[] = []): Promise<string[]> {
  for await (const { text } of responses) texts.push(text);
  return texts;
}

/** Checks the error of a call. */
export async function failure(code: Code, call: Promise<unknown>): Promise<RpcError> {
  try {
    await call;
  } catch (error) {
    ok(error instanceof RpcError, String(error));
    equal(codeName(error.code), codeName(code), error.message);
    return error;
  }
  throw new Error(`the call succeeded, but had to fail with ${codeName(code)}`);
}

/** Dubbo for Java writes the name of the code before the message. */
function says({ rawMessage }: RpcError, message: string): void {
  ok(rawMessage.endsWith(message), `the message is ${JSON.stringify(rawMessage)}`);
}

/** Waits until the server reports the end of a call. */
async function seen(client: PeerServiceClient, callId: string): Promise<void> {
  for (let i = 0; i < 100; i++) {
    const { canceled } = await client.watch({ callId });
    if (canceled) return;
    await delay(20);
  }
  throw new Error("the server did not see the end of the call");
}

/** Returns the trailers of a unary call. */
async function trailersOf(client: PeerServiceClient): Promise<{ leading: Metadata; trailing: Metadata }> {
  let [leading, trailing]: (Metadata | undefined)[] = [];
  const onHeaders = (metadata: Metadata): void => {
    leading = metadata;
  };
  const onTrailers = (metadata: Metadata): void => {
    trailing = metadata;
  };
  await client.unary({}, { onHeaders, onTrailers });
  ok(leading !== undefined && trailing !== undefined);
  return { leading, trailing };
}

export const cases = {
  async unary({ client }) {
    const number = 9_007_199_254_740_993n;
    const response = await client.unary({ text: "Zoë", number, data: Uint8Array.of(0, 255) });
    equal(response.text, "Zoë");
    equal(response.number, number);
    equal([...response.data], [0, 255]);
  },

  async client_streaming({ client }) {
    const { text } = await client.clientStream(each({ text: "a" }, { text: "b" }, { text: "c" }));
    equal(text, "a,b,c");
  },

  async server_streaming({ client }) {
    equal(await textsOf(client.serverStream({ text: "x", responses: 3 })), ["x0", "x1", "x2"]);
  },

  async bidi_streaming({ client }) {
    let answered = (): void => {};
    async function* paced(): AsyncGenerator<PeerRequestInit, void> {
      for (const text of ["a", "b", "c"]) {
        const answer = new Promise<void>((resolve) => {
          answered = resolve;
        });
        yield { text };
        await answer;
      }
    }
    const texts: string[] = [];
    for await (const { text } of client.bidiStream(paced())) {
      texts.push(text);
      answered();
    }
    equal(texts, ["a", "b", "c"]);
  },

  async metadata({ client }) {
    const headers = { "x-text": "some text", "x-bytes-bin": TRAILING_BYTES };
    const { metadata } = await client.unary({}, { headers });
    equal(metadata["x-text"], "some text");
    equal(metadata["x-bytes-bin"], "q83v/w");
  },

  async leading_metadata({ client }) {
    equal((await trailersOf(client)).leading.get("x-leading"), "yes");
  },

  async trailers({ client }) {
    const { trailing } = await trailersOf(client);
    equal(trailing.get("x-trailing"), "yes");
    equal(Uint8Array.from(trailing.getBinary("x-bytes-bin") ?? []), TRAILING_BYTES);
  },

  /** Names of attachments keep upper-case letters. */
  async attachment_names({ client }) {
    const { metadata } = await client.unary(
      {},
      { headers: attachments({ "x-userName": "Ada", "x-userKey": TRAILING_BYTES }) },
    );
    equal(metadata["x-userName"], "Ada");
    equal(metadata["x-userKey-bin"], "q83v/w");
    equal(readAttachments((await trailersOf(client)).trailing)["x-camelCase"], "yes");
  },

  async status({ client }) {
    for (let code = 1; code <= 16; code++) {
      const error = await failure(code as Code, client.unary({ failure: { code, message: "no such thing" } }));
      says(error, "no such thing");
    }
  },

  async status_message({ client }) {
    const failing = client.unary({ failure: { code: Code.NotFound, message: SPECIAL_MESSAGE } });
    says(await failure(Code.NotFound, failing), SPECIAL_MESSAGE);
  },

  async status_of_stream({ client }) {
    const texts: string[] = [];
    const request = { text: "x", responses: 2, failure: { code: Code.FailedPrecondition, message: "after two" } };
    const error = await failure(Code.FailedPrecondition, textsOf(client.serverStream(request), texts));
    says(error, "after two");
    equal(texts, ["x0", "x1"]);
  },

  async details({ client }) {
    const failing = client.unary({ failure: { code: Code.InvalidArgument, message: "bad", details: true } });
    const [detail] = (await failure(Code.InvalidArgument, failing)).details;
    ok(detail, "there are no details");
    equal(fromBinary(ErrorInfoSchema, detail.value).reason, "PEER");
  },

  async deadline({ client }) {
    await failure(Code.DeadlineExceeded, client.unary({ delayMs: 2000 }, { timeoutMs: 200 }));
  },

  /** The server ends the work of a call after its deadline. */
  async deadline_at_the_server({ client }) {
    const callId = "deadline of triple-es";
    await failure(Code.DeadlineExceeded, client.unary({ delayMs: 2000, callId }, { timeoutMs: 200 }));
    await seen(client, callId);
  },

  async cancel({ client }) {
    const controller = new AbortController();
    const callId = "cancel of triple-es";
    const request = { text: "x", responses: 1, delayMs: 2000, callId };
    const reading = (async () => {
      for await (const _ of client.serverStream(request, { signal: controller.signal })) controller.abort();
    })();
    await failure(Code.Canceled, reading);
    await seen(client, callId);
  },

  async group_and_version({ select }) {
    equal((await select().unary({})).service, "");
    equal((await select("blue", "1.2.3").unary({})).service, "blue/1.2.3");
  },

  async unknown_group({ select }) {
    await failure(Code.Unimplemented, select("red", "1.2.3").unary({}));
  },

  async unknown_version({ select }) {
    await failure(Code.Unimplemented, select("blue", "9.9.9").unary({}));
  },

  async unknown_service({ unknown }) {
    await failure(Code.Unimplemented, unknown.unary({}));
  },

  async gzip_requests({ compressing, compressions }) {
    const data = new Uint8Array(10_000);
    equal((await compressing.unary({ data })).data.byteLength, data.byteLength);
    const { text } = await compressing.clientStream(each({ text: "a", data }, { text: "b", data }));
    equal(text, "a,b");
    equal(compressions.compressed, 3);
  },

  async gzip_responses({ compressing, compressions }) {
    const { inflated } = compressions;
    await compressing.unary({ data: new Uint8Array(10_000) });
    ok(compressions.inflated > inflated, "the response was not compressed");
  },

  async health({ health }) {
    equal((await health.check({ service: "" })).status, HealthCheckResponse_ServingStatus.SERVING);
    for await (const { status } of health.watch({ service: "" })) {
      equal(status, HealthCheckResponse_ServingStatus.SERVING);
      break;
    }
  },

  async large_message({ client }) {
    const data = new Uint8Array(2_000_000).fill(7);
    equal(Buffer.compare((await client.unary({ data })).data, data), 0);
  },
} satisfies Readonly<Record<string, Case>>;

export type CaseName = keyof typeof cases;
export const caseNames = Object.keys(cases) as CaseName[];
