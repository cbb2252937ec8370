/**
 * Flow control (RFC 9113, section 5.2): the windows of streams and connections, in both directions.
 */
import { MAX_31_BITS } from "./codes.ts";

/** Bytes that this side may send. Below 0 after SETTINGS that made windows smaller (RFC 9113, section 6.9.2). */
export class SendWindow {
  left: number;

  constructor(left: number) {
    this.left = left;
  }

  /** Adds what the peer allows, or a change of its settings. Returns whether the window has become larger than legal. */
  add(bytes: number): boolean {
    this.left += bytes;
    return this.left > MAX_31_BITS;
  }
}

/**
 * Bytes that the peer may send. What the reader has consumed is announced once it is half of the window: less often would
 * stop the peer, more often would cost frames.
 */
export class ReceiveWindow {
  /** Bytes that the peer may still send. */
  left: number;
  /** Bytes that may be received and unread. */
  size: number;
  /** Bytes that were consumed and not announced by WINDOW_UPDATE. */
  credit = 0;

  constructor(size: number) {
    this.left = size;
    this.size = size;
  }

  /** Charges a frame. Returns whether it is more than was allowed. */
  charge(bytes: number): boolean {
    this.left -= bytes;
    return this.left < 0;
  }

  /** Gives back what is consumed. Returns whether it is time to announce it. */
  give(bytes: number): boolean {
    this.credit += bytes;
    return this.credit >= this.size / 2;
  }

  /** The increment to announce; 0: none. */
  announce(): number {
    const { credit } = this;
    this.credit = 0;
    this.left += credit;
    return credit;
  }

  /** Lets the peer send more ahead than before. */
  grow(size: number): void {
    this.credit += size - this.size;
    this.size = size;
  }
}
