/**
 * Flow control (RFC 9113, section 5.2): the windows of streams and connections, in both directions.
 */
import { ConnectionError, ErrorCode, MAX_31_BITS } from "./codes.ts";

/** Number of bytes that this side may send. Negative after SETTINGS that reduced the window (RFC 9113, section 6.9.2). */
export class SendWindow {
  left: number;

  constructor(left: number) {
    this.left = left;
  }

  /** Adds an increment or a change of the peer's settings. Returns whether the window exceeds the maximum of RFC 9113. */
  add(bytes: number): boolean {
    this.left += bytes;
    return this.left > MAX_31_BITS;
  }
}

/**
 * Number of bytes that the peer may send. Consumed bytes are announced once they are half of the window: later would stop the
 * peer, earlier would cost more frames.
 */
export class ReceiveWindow {
  /** Bytes that the peer may still send. */
  left: number;
  /** Maximum number of bytes that may be received and not consumed. */
  size: number;
  /** Consumed bytes that have not been announced by WINDOW_UPDATE. */
  credit = 0;

  constructor(size: number) {
    this.left = size;
    this.size = size;
  }

  /** Charges a frame. Returns whether it exceeds the window. */
  charge(bytes: number): boolean {
    this.left -= bytes;
    return this.left < 0;
  }

  /** Adds consumed bytes. Returns whether they should be announced. */
  give(bytes: number): boolean {
    this.credit += bytes;
    return this.credit >= this.size / 2;
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
