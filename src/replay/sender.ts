/** Sends recorded calls in JSON, without the schemas of their messages. */
import type { Method } from "../../runtime/src/call/call.ts";
import { codeName } from "../../runtime/src/call/code.ts";
import { RpcError } from "../../runtime/src/call/error.ts";
import { createClient, type Transport } from "../../runtime/src/client/client.ts";
import { decodeJson, encodeJson } from "../../runtime/src/codec/codec.ts";
import { createGrpcClient } from "../../runtime/src/grpc/client.ts";
import { createHttpRpcClient } from "../../runtime/src/http-rpc/client.ts";
import { createNodeTransport } from "../../runtime/src/node/client/transport.ts";
import { REDACTED } from "../../runtime/src/observe/redaction.ts";
import { isReservedName } from "../../runtime/src/protocol/headers.ts";
import type { Payload } from "../../runtime/src/protocol/payload.ts";
import { plainJsonMessages } from "../../runtime/src/protocol/plain-json.ts";
import type { ReplayArguments } from "./arguments.ts";
import type { RecordedCall } from "./recorded-call.ts";

/** The part of an answer that is compared. */
export type Answer = Pick<RecordedCall, "responses" | "code" | "message" | "details">;

export interface Sender {
  send(call: RecordedCall): Promise<Answer>;
  close(): Promise<void>;
}

const payload: Payload = {
  httpRpc: plainJsonMessages,
  grpcJson: {
    encodeRequest: (_method, message) => encodeJson(message as never),
    decodeResponse: (_method, bytes) => decodeJson(bytes) as object,
  },
};

/** Headers that a client library adds to each request. */
const OF_LIBRARY = ["accept", "user-agent"];

export function createSender({ url: baseUrl, timeoutMs, headers }: ReplayArguments): Sender {
  const protocols = { grpc: createGrpcClient, "http-rpc": createHttpRpcClient };
  const grpc = createNodeTransport(protocols, { baseUrl, protocol: "grpc" });
  // Servers of both HTTP versions exist: those in other frameworks have HTTP/1.1 alone.
  const httpRpc = createNodeTransport(protocols, { baseUrl, protocol: "http-rpc", httpVersion: "1.1" });
  return {
    send(call) {
      const isGrpc = call.headers["content-type"]?.startsWith("application/grpc") ?? true;
      return send(call, isGrpc || call.kind !== "unary" ? grpc : httpRpc, { headers, timeoutMs });
    },
    async close() {
      await Promise.all([grpc.close(), httpRpc.close()]);
    },
  };
}

async function send(
  call: RecordedCall,
  transport: Transport,
  { headers: given, timeoutMs }: Pick<ReplayArguments, "headers" | "timeoutMs">,
): Promise<Answer> {
  const { method: path, kind, headers, selector, requests } = call;
  const [, service = "", name = ""] = path.split("/");
  const method: Method = { kind, service, name, path, payload };
  const { run } = createClient({ typeName: service, methods: { run: method } }, transport) as {
    run(input: unknown, options: object): Promise<object> | AsyncIterable<object>;
  };
  const sent = Object.entries(headers).filter(
    ([name, value]) =>
      !isReservedName(name) && !OF_LIBRARY.includes(name) && !given.has(name) && value !== REDACTED && value !== "",
  );
  const input = kind === "client_streaming" || kind === "bidi_streaming" ? each(requests) : requests[0];
  const responses: object[] = [];
  try {
    const output = run(input, { headers: [...sent, ...given], timeoutMs, ...selector });
    if (Symbol.asyncIterator in output) for await (const message of output) responses.push(message);
    else responses.push(await output);
    return { responses, code: "ok" };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    const details = error.details.map(({ typeUrl }) => typeUrl);
    return { responses, code: codeName(error.code), message: error.rawMessage, details };
  }
}

async function* each(messages: readonly object[]): AsyncGenerator<object> {
  yield* messages;
}
