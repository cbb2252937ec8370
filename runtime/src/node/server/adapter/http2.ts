/**
 * Requests and responses of servers of `node:http2`, through its compatibility API.
 */
import type { Http2ServerRequest, Http2ServerResponse, ServerHttp2Stream } from "node:http2";
import type { HttpRequest, HttpResponse } from "../../../http/exchange.ts";
import { ErrorCode } from "../../../http2/codes.ts";
import { discard, discardRest, pump, readableBody, writeCorked } from "../../io/body.ts";
import { peerOf } from "../peer.ts";
import { readFields, setHead, toHttp2Headers } from "./headers.ts";
import { signalOf } from "./signal.ts";

/** Converts a request. It is read from its stream: the compatibility API ends a body that was reset like a complete one. */
export function http2Request({ stream, headers, rawHeaders }: Http2ServerRequest, path: string): HttpRequest {
  let signal: AbortSignal | undefined;
  return {
    method: headers[":method"] ?? "",
    path,
    version: "2",
    authority: headers[":authority"],
    headers: readFields(rawHeaders),
    // Before its response, a stream closes only by a reset, whatever the error code.
    body: readableBody(stream, ({ closed }) => closed),
    // A closed stream has no session.
    peer: stream.session && peerOf(stream.session.socket, "h2"),
    get signal() {
      signal ??= signalOf(stream);
      return signal;
    },
  };
}

export function respondHttp2(outgoing: Http2ServerResponse, response: HttpResponse): void {
  const { stream } = outgoing;
  const { body, trailers } = response;
  const { whole } = body;
  if (stream.destroyed || stream.closed) {
    void discard(body);
    return;
  }
  setHead(outgoing, response);
  if (whole?.byteLength === 0 && trailers.size === 0) {
    stream.on("finish", () => setImmediate(closeUnread, stream));
    outgoing.end();
    return;
  }
  // This listener must run before that of the compatibility API, which sends the trailers that are set by then.
  stream.prependListener("wantTrailers", () => {
    outgoing.addTrailers(toHttp2Headers(trailers));
    setImmediate(closeUnread, stream);
  });
  if (whole !== undefined) {
    outgoing.end(whole);
    return;
  }
  outgoing.writeHead(response.status);
  pump(body, stream, (chunk) => writeCorked(stream, chunk)).catch(() => failHttp2(outgoing));
}

/** Resets the stream of a call whose response is missing or incomplete. */
export function failHttp2({ stream }: Http2ServerResponse): void {
  stream.close(ErrorCode.InternalError);
}

/**
 * Ends a request that was answered before its end (RFC 9113, section 8.1): discards a bounded rest, then resets the stream.
 * It must be called one turn of the event loop after the response was written, because a reset in the same turn would
 * overtake the response.
 */
function closeUnread(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded)
    discardRest(stream, () => {
      if (!stream.readableEnded) stream.close(ErrorCode.NoError);
    });
}
