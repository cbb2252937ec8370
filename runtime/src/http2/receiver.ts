/**
 * Parser of received bytes into frames (RFC 9113, section 4). DATA is passed on as it arrives; other frames are passed on
 * when they are complete, and header blocks when all their frames are complete. The parser keeps copies only, no views of
 * received chunks.
 */
import { EMPTY, viewOf } from "../wire/output.ts";
import { ConnectionError, ErrorCode, Flag, FRAME_HEADER_BYTES, FrameType } from "./codes.ts";
import type { ControlFrames } from "./control.ts";
import type { ReceivedData } from "./data.ts";
import { checkFrame, type HeadersFrame, readUint31 } from "./frame.ts";
import { MAX_CONTINUATIONS } from "./limits.ts";

/** Handles complete header blocks. */
export interface HeadersHandler {
  onHeaders(frame: HeadersFrame): void;
}

/** The first bytes of a client (RFC 9113, section 3.4). */
export const PREFACE: Uint8Array = Uint8Array.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (character) =>
  character.charCodeAt(0),
);

const Phase = { Preface: 0, Header: 1, Payload: 2, PadLength: 3, Data: 4, Skipped: 5 } as const;

/** Bytes of a header block that count as much work as another frame: about as many fields may be in them. */
const HEADER_BYTES_PER_FRAME = 32;

export class Receiver {
  /** True if no more frames are accepted. */
  isStopped = false;
  readonly #data: ReceivedData;
  readonly #blocks: HeadersHandler;
  readonly #others: ControlFrames;
  #phase: number;
  /** The received part of an incomplete frame: its nine-byte header, then its payload. */
  #header: Uint8Array | undefined;
  #held: Uint8Array = EMPTY;
  /** Received bytes of the preface, the header or the payload. */
  #got = 0;
  #type = 0;
  #flags = 0;
  #streamId = 0;
  #length = 0;
  #isFirst = true;
  /** Bytes of a DATA frame that have not been received yet, and those to skip: its padding, or a frame of an unknown type. */
  #dataLeft = 0;
  #skippedLeft = 0;
  readonly #headers = { streamId: 0, isEnd: false, bytes: EMPTY, start: 0, end: 0, dependsOn: -1 };
  /** The header block in progress, which is in {@link #headers}: its stream id (0: none), and the bytes received so far. */
  #blockStreamId = 0;
  #block: Uint8Array = EMPTY;
  #continuations = 0;
  /** Number of complete frames and header blocks. */
  completed = 0;
  /** The number of frames that may still be read in this step, see {@link receive}. */
  #work = 0;

  constructor(data: ReceivedData, blocks: HeadersHandler, others: ControlFrames, expectsPreface: boolean) {
    this.#data = data;
    this.#blocks = blocks;
    this.#others = others;
    this.#phase = expectsPreface ? Phase.Preface : Phase.Header;
  }

  /** True if the preface, a header block or a frame other than DATA is incomplete. */
  get isMidway(): boolean {
    if (this.#blockStreamId !== 0 || this.#got > 0) return true;
    if (this.#phase === Phase.Skipped) return this.#type !== FrameType.Data;
    return this.#phase === Phase.Payload || this.#phase === Phase.Preface;
  }

  /** Reads about that many frames; a long header block counts as several. Returns the number of bytes that were read. */
  receive(chunk: Uint8Array, frames: number): number {
    const { length: end, buffer, byteOffset } = chunk;
    let at = 0;
    this.#work = frames;
    while (at < end && this.#work > 0 && !this.isStopped) {
      switch (this.#phase) {
        case Phase.Header:
          at = this.#readHeader(chunk, at, end);
          break;
        case Phase.Data:
          at = this.#readData(buffer, byteOffset, at, end);
          break;
        case Phase.Payload:
          at = this.#readPayload(chunk, at, end);
          break;
        case Phase.PadLength:
          this.#onPadLength(chunk[at++] as number);
          break;
        case Phase.Skipped:
          at = this.#skip(at, end);
          break;
        default:
          at = this.#readPreface(chunk, at, end);
      }
    }
    return at;
  }

  #readPreface(chunk: Uint8Array, start: number, end: number): number {
    let at = start;
    for (; at < end && this.#got < PREFACE.length; at++) {
      if (chunk[at] !== PREFACE[this.#got]) {
        throw new ConnectionError(ErrorCode.ProtocolError, "the client does not begin as HTTP/2 does");
      }
      this.#got++;
    }
    if (this.#got === PREFACE.length) {
      this.#got = 0;
      this.#phase = Phase.Header;
    }
    return at;
  }

  #readHeader(chunk: Uint8Array, start: number, end: number): number {
    if (this.#got === 0 && end - start >= FRAME_HEADER_BYTES) {
      this.#onHeader(chunk, start);
      const at = start + FRAME_HEADER_BYTES;
      if (this.#phase !== Phase.Payload || end - at < this.#length) return at;
      // The payload is complete in this chunk, so nothing is copied.
      this.#phase = Phase.Header;
      this.#onPayload(chunk, at, at + this.#length);
      return at + this.#length;
    }
    this.#header ??= new Uint8Array(FRAME_HEADER_BYTES);
    const header = this.#header;
    let at = start;
    while (at < end && this.#got < FRAME_HEADER_BYTES) header[this.#got++] = chunk[at++] as number;
    if (this.#got === FRAME_HEADER_BYTES) {
      this.#got = 0;
      this.#onHeader(header, 0);
      this.#finishIfEmpty();
    }
    return at;
  }

  /** Handles the frame header, the nine bytes before a payload. */
  #onHeader(bytes: Uint8Array, at: number): void {
    const length = ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number);
    const type = bytes[at + 3] as number;
    const flags = bytes[at + 4] as number;
    const streamId = readUint31(bytes, at + 5);
    this.#type = type;
    this.#flags = flags;
    this.#streamId = streamId;
    this.#length = length;
    checkFrame(type, length, flags, streamId);
    if (this.#isFirst && (type !== FrameType.Settings || (flags & Flag.Ack) !== 0)) {
      throw new ConnectionError(ErrorCode.ProtocolError, "the first frame must be SETTINGS");
    }
    this.#isFirst = false;
    // RFC 9113, section 6.10
    if (type === FrameType.Continuation ? streamId !== this.#blockStreamId : this.#blockStreamId !== 0) {
      const problem = this.#blockStreamId === 0 ? "CONTINUATION without HEADERS" : "a header block is interrupted";
      throw new ConnectionError(ErrorCode.ProtocolError, problem);
    }
    this.#work--;
    this.#phase = Phase.Payload;
    if (type > FrameType.Continuation) {
      this.#others.onUnknown(length);
      this.#skippedLeft = length;
      this.#endData();
    } else if (type === FrameType.Headers || type === FrameType.Continuation) {
      this.#work -= Math.floor(length / HEADER_BYTES_PER_FRAME);
    }
    if (type !== FrameType.Data) return;
    if ((flags & Flag.Padded) === 0) this.#startData(length, 0);
    else if (length === 0) throw new ConnectionError(ErrorCode.FrameSizeError, "padded DATA has no pad length");
    else this.#phase = Phase.PadLength;
  }

  #onPadLength(padding: number): void {
    if (padding >= this.#length) throw new ConnectionError(ErrorCode.ProtocolError, "padding is longer than its frame");
    // The pad length is padding too.
    this.#startData(this.#length - padding - 1, padding + 1);
  }

  #startData(length: number, padding: number): void {
    this.#dataLeft = length;
    this.#skippedLeft = Math.max(0, padding - 1);
    this.#phase = Phase.Data;
    this.#data.onDataStart(this.#streamId, length, padding, (this.#flags & Flag.EndStream) !== 0);
    if (length === 0) this.#endData();
  }

  #readData(buffer: ArrayBufferLike, offset: number, start: number, end: number): number {
    const stop = Math.min(end, start + this.#dataLeft);
    this.#dataLeft -= stop - start;
    this.#data.onDataBytes(new Uint8Array(buffer, offset + start, stop - start));
    if (this.#dataLeft === 0 && !this.isStopped) this.#endData();
    return stop;
  }

  /** Ends a DATA frame, or one of an unknown type, when what is to skip has been skipped. */
  #endData(): void {
    if (this.#skippedLeft > 0) {
      this.#phase = Phase.Skipped;
      return;
    }
    this.#phase = Phase.Header;
    this.completed++;
    if (this.#type === FrameType.Data) this.#data.onDataEnd((this.#flags & Flag.EndStream) !== 0);
  }

  #skip(start: number, end: number): number {
    const stop = Math.min(end, start + this.#skippedLeft);
    this.#skippedLeft -= stop - start;
    if (this.#skippedLeft === 0) this.#endData();
    return stop;
  }

  /** Collects a payload that arrives in several chunks, in a buffer of the payload's size. */
  #readPayload(chunk: Uint8Array, start: number, end: number): number {
    if (this.#held.length === 0) this.#held = new Uint8Array(this.#length);
    const taken = Math.min(end - start, this.#length - this.#got);
    this.#held.set(viewOf(chunk, start, start + taken), this.#got);
    this.#got += taken;
    this.#finishIfEmpty();
    return start + taken;
  }

  #finishIfEmpty(): void {
    if (this.#phase !== Phase.Payload || this.#got < this.#length) return;
    const payload = this.#held;
    this.#held = EMPTY;
    this.#got = 0;
    this.#phase = Phase.Header;
    this.#onPayload(payload, 0, this.#length);
  }

  #onPayload(bytes: Uint8Array, start: number, end: number): void {
    if (this.#type === FrameType.Headers) this.#onHeadersFrame(bytes, start, end);
    else if (this.#type === FrameType.Continuation) this.#onContinuation(bytes, start, end);
    else {
      this.completed++;
      this.#others.onFrame(this.#type, this.#flags, this.#streamId, bytes, start, end);
    }
  }

  #onHeadersFrame(bytes: Uint8Array, first: number, last: number): void {
    const flags = this.#flags;
    let start = first;
    let end = last;
    if (flags & Flag.Padded) {
      if (start >= end) throw new ConnectionError(ErrorCode.FrameSizeError, "padded HEADERS has no pad length");
      end -= bytes[start++] as number;
    }
    let dependsOn = -1;
    if (flags & Flag.Priority) {
      if (last - start < 5) throw new ConnectionError(ErrorCode.FrameSizeError, "HEADERS lacks priority fields");
      dependsOn = readUint31(bytes, start);
      start += 5;
    }
    if (start > end) throw new ConnectionError(ErrorCode.ProtocolError, "padding is longer than its frame");
    const headers = this.#headers;
    headers.streamId = this.#streamId;
    headers.isEnd = (flags & Flag.EndStream) !== 0;
    headers.dependsOn = dependsOn;
    if (flags & Flag.EndHeaders) {
      this.#onBlock(bytes, start, end);
      return;
    }
    this.#blockStreamId = this.#streamId;
    this.#block = bytes.slice(start, end);
    this.#continuations = 0;
  }

  #onContinuation(bytes: Uint8Array, start: number, end: number): void {
    this.#continuations++;
    if (this.#continuations > MAX_CONTINUATIONS) {
      throw new ConnectionError(ErrorCode.EnhanceYourCalm, "a header block has too many frames");
    }
    const block = new Uint8Array(this.#block.length + end - start);
    block.set(this.#block);
    block.set(viewOf(bytes, start, end), this.#block.length);
    this.#block = block;
    if ((this.#flags & Flag.EndHeaders) === 0) return;
    this.#blockStreamId = 0;
    this.#block = EMPTY;
    this.#onBlock(block, 0, block.length);
  }

  #onBlock(bytes: Uint8Array, start: number, end: number): void {
    const headers = this.#headers;
    headers.bytes = bytes;
    headers.start = start;
    headers.end = end;
    this.completed++;
    this.#blocks.onHeaders(headers);
    headers.bytes = EMPTY;
  }
}
