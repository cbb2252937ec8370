/**
 * Requests and responses of servers of `node:http`.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { TLSSocket } from "node:tls";
import { Metadata } from "../../../call/metadata.ts";
import type { PeerConnection } from "../../../call/peer.ts";
import type { Body } from "../../../http/body.ts";
import { clientGone, type HttpRequest, type HttpResponse } from "../../../http/exchange.ts";
import { ReadableBody, type ReadableBodyOptions } from "../../io/body.ts";
import { discard, pump } from "../../io/pump.ts";
import { peerOf } from "../peer.ts";
import { setHead } from "./headers.ts";
import { signalOf } from "./signal.ts";

/** Largest rest of a request, in bytes, that is discarded after an early response to keep the connection. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;

/**
 * Size of the slices, in bytes, in which larger bodies are written. TLS copies the data that is written to it, so it then
 * holds a copy of one slice only.
 */
const TLS_SLICE_BYTES = 128 * 1024;

/**
 * Largest body, in bytes, that is passed to `node:http` as text with one character per byte: Node then joins it with the
 * headers and writes once instead of twice.
 */
const MAX_JOINED_BYTES: number = 16 * 1024;

/** Options for reading a request body. The part that is not read is discarded. */
const HTTP1_BODY_OPTIONS: ReadableBodyOptions = { lost: clientGone, cancel: () => {}, cutOff: () => false };

/** A request of `node:http`. */
export class Http1Request implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly version = "1.1";
  readonly headers: Metadata;
  readonly body: Body;
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  #signal: AbortSignal | undefined;

  constructor(incoming: IncomingMessage, outgoing: ServerResponse, path: string) {
    this.method = incoming.method ?? "";
    this.path = path;
    this.headers = Metadata.fromRaw(lowerNames(incoming.rawHeaders));
    this.body = new ReadableBody(incoming, HTTP1_BODY_OPTIONS);
    this.#incoming = incoming;
    this.#outgoing = outgoing;
  }

  get peer(): PeerConnection {
    return peerOf(this.#incoming.socket, "h1");
  }

  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.#outgoing, this.#incoming.socket);
    return this.#signal;
  }
}

/** Converts the field names of HTTP/1.1 to lower case, as metadata requires. */
function lowerNames(raw: string[]): string[] {
  return raw.map((text, i) => (i % 2 === 0 ? text.toLowerCase() : text));
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
  await writeBody(incoming, outgoing, response.body);
}

/** Writes a body after the headers, and ends the response. The headers of a stream do not wait for its first message. */
function writeBody(incoming: IncomingMessage, outgoing: ServerResponse, body: Body): undefined | Promise<void> {
  const { whole } = body;
  if (whole === undefined) {
    outgoing.flushHeaders();
    return pump(body, outgoing).then(() => dropRest(incoming));
  }
  if (whole.byteLength > TLS_SLICE_BYTES && outgoing.socket instanceof TLSSocket) writeSlices(outgoing, whole);
  else if (whole.byteLength > MAX_JOINED_BYTES) outgoing.end(whole);
  else outgoing.end(Buffer.from(whole.buffer, whole.byteOffset, whole.byteLength).toString("latin1"), "latin1");
  dropRest(incoming);
  return undefined;
}

/** Writes a body in slices with backpressure, and ends the response. */
function writeSlices(outgoing: ServerResponse, bytes: Uint8Array): void {
  let offset = 0;
  const write = (): void => {
    while (offset + TLS_SLICE_BYTES < bytes.byteLength) {
      const slice = bytes.subarray(offset, offset + TLS_SLICE_BYTES);
      offset += TLS_SLICE_BYTES;
      if (!outgoing.write(slice)) return;
    }
    outgoing.off("drain", write);
    outgoing.end(bytes.subarray(offset));
  };
  outgoing.on("drain", write);
  write();
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
