/**
 * Abort signals of requests of `node:http` and `node:http2`.
 */
import type { ServerHttp2Stream } from "node:http2";
import type { Readable, Writable } from "node:stream";
import { clientGone } from "../../../call/error.ts";

/**
 * Creates a signal that fires if the stream of a response closes before the complete response was written, or if the
 * client's side of the connection ends: over HTTP/1.1 that is all that most clients do when they cancel.
 */
export function signalOf(
  response: Writable & Partial<Pick<ServerHttp2Stream, "aborted">>,
  connection?: Readable,
): AbortSignal {
  const controller = new AbortController();
  const onEnd = (): void => controller.abort(clientGone());
  const onClose = (): void => {
    connection?.off("end", onEnd);
    // Node ends HTTP/2 streams that were reset, and sets `aborted` on them.
    if (!response.writableEnded || response.aborted) controller.abort(clientGone());
  };
  if (response.destroyed) onClose();
  else response.once("close", onClose);
  if (connection?.readableEnded) onEnd();
  else connection?.once("end", onEnd);
  return controller.signal;
}
