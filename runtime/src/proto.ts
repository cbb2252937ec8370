/**
 * The door for clients whose messages travel in binary: unary calls of sub-protocol A on `fetch`. A page that uses it, and
 * not the door `fetch`, does not load what reads and writes messages as JSON.
 */
import { intercept } from "./call.ts";
import type { Transport } from "./client.ts";
import { protoCodec } from "./codec.ts";
import { connectFetch, type TransportOptions } from "./fetch.ts";
import { createUnaryCall, refuseStreams } from "./http-rpc/client.ts";
import { resolveClientOptions } from "./protocol.ts";
import { refuseSignedCalls } from "./signed-call.ts";

export type ProtoTransportOptions = Omit<TransportOptions, "codec" | "jsonBody">;

/**
 * Makes a transport on `fetch` for messages in binary. It carries unary calls. Closing it does nothing: its connections are
 * those of `fetch`.
 */
export function createTransport(options: ProtoTransportOptions): Transport {
  const resolved = resolveClientOptions({ ...options, codec: protoCodec, compressions: [] });
  const call = refuseSignedCalls(refuseStreams(createUnaryCall(connectFetch(options), resolved)));
  return { call: intercept(call, options.interceptors), close: async () => {} };
}
