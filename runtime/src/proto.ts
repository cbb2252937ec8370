/**
 * The door for clients whose messages travel in binary: unary calls of sub-protocol A on `fetch`. A page that uses it, and
 * not the door `fetch`, does not load what reads and writes messages as JSON.
 */
import { intercept } from "./call/call.ts";
import type { Transport } from "./client/client.ts";
import { closableTransport, NO_CONNECTIONS } from "./client/transport.ts";
import { protoCodec } from "./codec/codec.ts";
import { connectFetch, type TransportOptions } from "./fetch.ts";
import { codecPayload } from "./http-rpc/arguments.ts";
import { createUnaryCall, refuseStreams } from "./http-rpc/client.ts";
import { resolveUnaryOptions } from "./protocol/options.ts";

export type ProtoTransportOptions = Omit<TransportOptions, "codec" | "jsonBody">;

/**
 * Makes a transport on `fetch` for messages in binary. It carries unary calls. Closing it refuses new ones and waits for those
 * that have begun, up to the grace period; it ends none, because its connections are those of `fetch`.
 */
export function createTransport(options: ProtoTransportOptions): Transport {
  const exchange = connectFetch(options);
  const call = refuseStreams(createUnaryCall(exchange, codecPayload(protoCodec), resolveUnaryOptions(options)));
  return closableTransport(intercept(call, options.interceptors), NO_CONNECTIONS);
}
