/** The client under test in a page: gRPC by HTTP/2 in a WebSocket, to the gateway that this machine has for the page. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { ClosableTransport } from "triple-es";
import { createWebSocketTransport } from "triple-es/fetch";
import { answer, type Connect } from "./call.ts";
import {
  ClientCompatRequestSchema,
  ClientCompatResponseSchema,
} from "./gen/connectrpc/conformance/v1/client_compat_pb.ts";
import { Codec } from "./gen/connectrpc/conformance/v1/config_pb.ts";
import { jsonCodec } from "./translation.ts";

/** The transports, by their options. Browsers delay WebSockets of a page that opens many of them. */
const transports = new Map<string, ClosableTransport>();

const connectTo =
  (gateway: string): Connect =>
  ({ port, codec, messageReceiveLimit }) => {
    const key = `${port} ${codec} ${messageReceiveLimit}`;
    const known = transports.get(key);
    if (known !== undefined) return known;
    const transport = createWebSocketTransport({
      baseUrl: `${gateway}/${port}`,
      codec: codec === Codec.JSON ? jsonCodec : undefined,
      maxMessageBytes: messageReceiveLimit || undefined,
    });
    const shared = { ...transport, close: async () => {} };
    transports.set(key, shared);
    return shared;
  };

/** Makes the call of a request, and returns its result. Both are the bytes of a message as an array. */
async function run(bytes: readonly number[], gateway: string): Promise<number[]> {
  const request = fromBinary(ClientCompatRequestSchema, Uint8Array.from(bytes));
  const result = await answer(request, connectTo(gateway));
  return [...toBinary(ClientCompatResponseSchema, create(ClientCompatResponseSchema, result))];
}

export type RunInPage = typeof run;

Object.assign(globalThis, { run });
