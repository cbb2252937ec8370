/**
 * Bounded discard: reads and drops a limited part of the rest of a request that is answered before its end (RFC 9112, section
 * 9.6; RFC 9113, section 8.1). If the stream were reset or ended at once, clients such as curl 7.88 would lose the response.
 */
import type { Readable } from "node:stream";
import { startBackgroundTimer } from "../../call/platform.ts";

/** Maximum number of bytes that are read and dropped. After that, backpressure stops the client. */
export const DISCARD_BYTES: number = 64 * 1024;
/** Time in milliseconds in which a client may read the response and end its request. */
export const DISCARD_MS = 100;

/**
 * Drops the rest of a request within the bounds above. Calls back when the request has ended or the time is over: then the
 * response can be ended, and the request can be reset if it has not ended. Does not call back if the stream closes earlier.
 */
export function discardRest(stream: Readable, callback: () => void): void {
  let bytes = 0;
  const onData = (chunk: Uint8Array): void => {
    bytes += chunk.byteLength;
    if (bytes > DISCARD_BYTES) stream.pause();
  };
  const stop = (): void => {
    stopTimer();
    stream.off("end", onEnd);
    // A paused Node stream does not close.
    stream.off("data", onData).resume();
  };
  const onEnd = (): void => {
    stop();
    callback();
  };
  const stopTimer = startBackgroundTimer(DISCARD_MS, onEnd);
  stream.on("data", onData);
  stream.once("end", onEnd);
  stream.once("close", stop);
  stream.resume();
}
