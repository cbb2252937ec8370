/**
 * Failed writes of an HTTP/1.1 client. A server or proxy may answer early, for example with 413, and close the connection
 * while the request is sent (RFC 9112, section 9.5). The write then fails although the response has arrived.
 */

import type { Socket } from "node:net";
import { defer, startBackgroundTimer } from "../../call/platform.ts";

/**
 * Time in which a response that has arrived is read after a write has failed, in milliseconds. It is in the receive buffer of
 * the kernel by then, so this only bounds the reading of it.
 */
const READ_MS = 1_000;

/** Reports whether a write failed because the peer has closed the connection. */
function isFailedWrite(error: NodeJS.ErrnoException | undefined): boolean {
  return error?.syscall === "write" && (error.code === "EPIPE" || error.code === "ECONNRESET");
}

/**
 * Lets a socket read the bytes that have arrived before it is destroyed because a write has failed. The end of the input then
 * destroys it with the error of the write.
 */
export function readAfterFailedWrite(socket: Socket): void {
  const destroy = socket.destroy.bind(socket);
  let stopTimer: (() => void) | undefined;
  socket.destroy = (error?: Error) => {
    if (isFailedWrite(error)) {
      // A further write fails in the same way, which is no reason to stop reading.
      if (stopTimer !== undefined) return socket;
      if (!socket.destroyed && !socket.readableEnded) {
        stopTimer = startBackgroundTimer(READ_MS, () => destroy(error));
        // After a failed write, Node emits neither "data" nor "end".
        socket.push = (chunk) => {
          if (chunk === null) defer(() => destroy(error));
          else socket.emit("data", chunk);
          return true;
        };
        return socket;
      }
    }
    stopTimer?.();
    return destroy(error);
  };
}
