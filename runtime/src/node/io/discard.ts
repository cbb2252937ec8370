/**
 * Bounded discard: reads and drops a limited rest of a request that has been answered early (RFC 9112, section 9.6; RFC 9113,
 * section 8.1). Clients such as curl and Go's net/http lose the response if a reset follows it at once.
 */
import type { Readable } from "node:stream";

/** Bytes that are read and dropped. Beyond them backpressure stops the client. */
const DISCARD_BYTES = 64 * 1024;
/** Time a client has to take the response and end its request. */
const DISCARD_MS = 100;

/** Drops the rest of a stream within the bounds above. Calls `reset` when its time is over, and not if it ends before. */
export function discardRest(stream: Readable, reset: () => void): void {
  let bytes = 0;
  const onData = (chunk: Uint8Array): void => {
    bytes += chunk.byteLength;
    if (bytes > DISCARD_BYTES) stream.pause();
  };
  const timer = setTimeout(() => {
    reset();
    // A stream of Node that is paused does not close.
    stream.off("data", onData).resume();
  }, DISCARD_MS).unref();
  const stop = (): void => clearTimeout(timer);
  stream.on("data", onData);
  stream.once("end", stop);
  stream.once("close", stop);
  stream.resume();
}
