/**
 * Flow control (RFC 9113, section 5.2): the receive window of a stream or a connection.
 */
import { ConnectionError, ErrorCode } from "./codes.ts";

/** The receive window of a stream, in bytes. It bounds what is held for its reader. */
export const STREAM_WINDOW_BYTES: number = 256 * 1024;
/** The window of a stream whose data is collected as a whole, once much of it has arrived. It bounds what is on its way. */
export const COLLECTED_WINDOW_BYTES: number = 1024 * 1024;

/**
 * Number of bytes that the peer may send. Consumed bytes are announced once they are half of the window: later would stop the
 * peer, earlier would cost more frames.
 */
export class ReceiveWindow {
  /** Bytes that the peer may still send. Negative if it has exceeded the window. */
  left: number;
  /** Maximum number of bytes that may be received and not consumed. */
  size: number;
  /** Consumed bytes that have not been announced by WINDOW_UPDATE. */
  credit = 0;

  constructor(size: number) {
    this.left = size;
    this.size = size;
  }

  /** Adds consumed bytes, and sets the size. Returns whether they should be announced. */
  give(bytes: number, size: number = this.size): boolean {
    this.credit += bytes + size - this.size;
    this.size = size;
    return this.credit >= size / 2;
  }

  /** Returns the increment to announce; 0: none. */
  announce(): number {
    const { credit } = this;
    this.credit = 0;
    this.left += credit;
    return credit;
  }
}

export function flowControlError(whose: string): ConnectionError {
  return new ConnectionError(ErrorCode.FlowControlError, `the window of ${whose} is exceeded`);
}
