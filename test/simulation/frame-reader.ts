/**
 * Reads the frames of one direction of an HTTP/2 connection (RFC 9113, section 4.1). It shares no code with the engine under
 * test, which could otherwise hide its own mistakes.
 */

export const FRAME = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const FLAG_END_STREAM = 0x1;
export const FLAG_ACK = 0x1;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  /** Length of the payload. */
  readonly length: number;
  /** The first bytes of the payload: all of them for frames other than DATA and header blocks. */
  readonly payload: Buffer;
}

const PREFACE_BYTES = 24;
const HEADER_BYTES = 9;
/** Bytes of a payload that are kept. */
const KEPT_BYTES = 128;

export class FrameReader {
  readonly #onFrame: (frame: Frame) => void;
  /** Bytes of the client's preface that are still expected. */
  #preface: number;
  readonly #head = Buffer.alloc(HEADER_BYTES);
  #headLength = 0;
  #payload: Buffer = Buffer.alloc(0);
  #length = 0;
  #received = 0;

  constructor(isClient: boolean, onFrame: (frame: Frame) => void) {
    this.#preface = isClient ? PREFACE_BYTES : 0;
    this.#onFrame = onFrame;
  }

  read(bytes: Uint8Array): void {
    let at = Math.min(this.#preface, bytes.length);
    this.#preface -= at;
    while (at < bytes.length) {
      if (this.#headLength < HEADER_BYTES) {
        const taken = Math.min(HEADER_BYTES - this.#headLength, bytes.length - at);
        this.#head.set(bytes.subarray(at, at + taken), this.#headLength);
        this.#headLength += taken;
        at += taken;
        if (this.#headLength < HEADER_BYTES) return;
        this.#length = this.#head.readUIntBE(0, 3);
        this.#received = 0;
        this.#payload = Buffer.alloc(Math.min(KEPT_BYTES, this.#length));
      }
      const taken = Math.min(this.#length - this.#received, bytes.length - at);
      if (this.#received < this.#payload.length) {
        const kept = bytes.subarray(at, at + Math.min(taken, this.#payload.length - this.#received));
        this.#payload.set(kept, this.#received);
      }
      this.#received += taken;
      at += taken;
      if (this.#received === this.#length) this.#emit();
    }
  }

  #emit(): void {
    this.#headLength = 0;
    this.#onFrame({
      type: this.#head[3] as number,
      flags: this.#head[4] as number,
      stream: this.#head.readUInt32BE(5) & 0x7fffffff,
      length: this.#length,
      payload: this.#payload,
    });
  }
}
