/**
 * Requests and responses of servers of `node:http`.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Metadata } from "../../../call/metadata.ts";
import type { HttpRequest, HttpResponse } from "../../../http/exchange.ts";
import { discard, pump, readableBody } from "../../io/body.ts";
import { peerOf } from "../peer.ts";
import { lowerNames, setHead } from "./headers.ts";
import { signalOf } from "./signal.ts";

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

/** Sends a response, and settles when it has been written. Node drops what is not read of a request by then. */
export async function respondHttp1(outgoing: ServerResponse, response: HttpResponse): Promise<void> {
  const { whole } = response.body;
  if (outgoing.destroyed) return discard(response.body);
  setHead(outgoing, response);
  if (whole !== undefined) {
    // A 204 has no length, not even 0 (RFC 9110, section 8.6).
    if (response.status !== 204) outgoing.setHeader("content-length", whole.byteLength);
    outgoing.end(whole);
    return;
  }
  // The headers of a stream do not wait for its first message.
  outgoing.flushHeaders();
  await pump(response.body, outgoing);
}
