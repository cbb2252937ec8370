/**
 * Requests and responses of servers of `node:http`.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { TLSSocket } from "node:tls";
import { Metadata } from "../../../call/metadata.ts";
import { streamBody } from "../../../http/body.ts";
import type { HttpRequest, HttpResponse } from "../../../http/exchange.ts";
import { discard, pump, readableBody } from "../../io/body.ts";
import { peerOf } from "../peer.ts";
import { lowerNames, setHead } from "./headers.ts";
import { signalOf } from "./signal.ts";

/** Largest rest of a request, in bytes, that is discarded after an early response to keep the connection. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;

/** Size of the slices, in bytes, in which larger bodies are written, of which TLS then holds one copy only. */
const TLS_SLICE_BYTES = 128 * 1024;

/** Largest body, in bytes, that `node:http` gets as Latin-1 text: it then joins it with the headers in one write. */
const MAX_JOINED_BYTES: number = 16 * 1024;

/** Converts a request of `node:http`. */
export function http1Request(incoming: IncomingMessage, outgoing: ServerResponse, path: string): HttpRequest {
  let signal: AbortSignal | undefined;
  return {
    method: incoming.method ?? "",
    path,
    version: "1.1",
    headers: Metadata.fromRaw(lowerNames(incoming.rawHeaders)),
    body: readableBody(incoming, () => false),
    get peer() {
      return peerOf(incoming.socket, "h1");
    },
    get signal() {
      signal ??= signalOf(outgoing, incoming.socket);
      return signal;
    },
  };
}

/** Sends a response, and settles when it has been written. */
export async function respondHttp1(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  response: HttpResponse,
): Promise<void> {
  const { whole } = response.body;
  if (outgoing.destroyed) return discard(response.body);
  setHead(outgoing, response);
  // A 204 has no length, not even 0 (RFC 9110, section 8.6).
  if (whole !== undefined && response.status !== 204) outgoing.setHeader("content-length", whole.byteLength);
  if (whole !== undefined) {
    dropRest(incoming);
    return writeWhole(outgoing, whole);
  }
  // The headers of a stream do not wait for its first message.
  outgoing.flushHeaders();
  await pump(response.body, outgoing);
  dropRest(incoming);
}

/** Writes a body after the headers, and ends the response. */
function writeWhole(outgoing: ServerResponse, bytes: Uint8Array): undefined | Promise<void> {
  const { byteLength } = bytes;
  if (byteLength > TLS_SLICE_BYTES && outgoing.socket instanceof TLSSocket) {
    return pump(streamBody(slicesOf(bytes)), outgoing);
  }
  if (byteLength > MAX_JOINED_BYTES) outgoing.end(bytes);
  else outgoing.end(Buffer.from(bytes.buffer, bytes.byteOffset, byteLength).toString("latin1"), "latin1");
  return undefined;
}

async function* slicesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.byteLength; at += TLS_SLICE_BYTES) yield bytes.subarray(at, at + TLS_SLICE_BYTES);
}

/** Reads and discards the rest of a request, so that the next request on the connection can be found. */
function dropRest(incoming: IncomingMessage): void {
  if (incoming.complete) return;
  let bytes = 0;
  incoming.on("data", (chunk: Uint8Array) => {
    bytes += chunk.byteLength;
    if (bytes > MAX_DISCARDED_BYTES) incoming.destroy();
  });
}
