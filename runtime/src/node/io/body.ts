/**
 * Bodies on Node streams: requests and responses of adapters and fallbacks. Bounds for the rest of a request, for all servers.
 */
import type { Readable, Writable } from "node:stream";
import { clientGone } from "../../call/error.ts";
import { startBackgroundTimer } from "../../call/platform.ts";
import { OutgoingBody } from "../../connection/outgoing-body.ts";
import { type Body, streamBody } from "../../http/body.ts";

/**
 * Returns a stream as a body. Its owner listens for its errors. The part that is not read is dropped, so that the connection can
 * be used again. `isCutOff` reports whether an ended stream was truncated: Node ends streams that are reset as if all data had
 * arrived.
 */
export function readableBody<S extends Readable>(stream: S, isCutOff: (stream: S) => boolean): Body {
  return streamBody(chunksOf(stream, isCutOff));
}

async function* chunksOf<S extends Readable>(
  stream: S,
  isCutOff: (stream: S) => boolean,
): AsyncGenerator<Uint8Array, void> {
  try {
    yield* stream.iterator({ destroyOnReturn: false });
  } catch {
    throw clientGone();
  } finally {
    stream.resume();
  }
  if (isCutOff(stream)) throw clientGone();
}

/** Writes the chunks of a body with backpressure, and ends the stream. Cancels the body when the stream closes. */
export function pump(
  body: Body,
  stream: Writable,
  sendData = (chunk: Uint8Array): boolean => stream.write(chunk),
): Promise<void> {
  return new Promise((resolve, reject) => {
    const outgoing = new OutgoingBody(body, {
      stream: {
        get closed() {
          return stream.destroyed;
        },
        sendData,
      },
      onSent(isOpen) {
        if (isOpen) stream.end();
        resolve();
      },
      onSendError: reject,
    });
    stream.on("drain", () => outgoing.onDrain());
    stream.once("close", () => outgoing.onClosed());
    outgoing.send();
  });
}

/** Writes a chunk together with the others of this turn of the event loop, which `node:http` does by itself. */
export function writeCorked(stream: Writable, chunk: Uint8Array): boolean {
  if (stream.writableCorked === 0) {
    stream.cork();
    // Ticks run after all pending promise callbacks: by then the chunks of this turn have arrived.
    process.nextTick(() => stream.uncork());
  }
  return stream.write(chunk);
}

/** Cancels a body that will not be read. It is started first, because otherwise its cleanup would not run. */
export async function discard(body: Body): Promise<void> {
  const iterator = body[Symbol.asyncIterator]();
  try {
    await iterator.next();
    await iterator.return?.();
  } catch {
    // The peer is gone: the error has no receiver.
  }
}

/**
 * Maximum number of bytes that are dropped of the rest of a request that is answered before its end (RFC 9112, section 9.6; RFC
 * 9113, section 8.1): after that, backpressure stops the client. If the stream were reset or ended at once, clients such as curl
 * 7.88 would lose the response.
 */
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
