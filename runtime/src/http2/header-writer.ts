/**
 * Writer of HEADERS and the CONTINUATION frames after it (RFC 9113, sections 6.2 and 6.10).
 */
import { DEFAULT_MAX_FRAME_SIZE, Flag, FRAME_HEADER_BYTES, FrameType, MAX_31_BITS } from "./codes.ts";
import { writeFrameHeader } from "./frame.ts";
import { ENTRY_OVERHEAD_BYTES } from "./hpack/dynamic-table.ts";
import { Encoder, type FieldList } from "./hpack/encoder.ts";
import { checkOutgoing } from "./messages.ts";
import type { Output } from "./output.ts";

/** A header block is larger than the peer's SETTINGS_MAX_HEADER_LIST_SIZE. Nothing of it has been sent. */
export class HeadersTooLarge extends TypeError {}

/**
 * Writes header blocks. Each is encoded when it is written, so that the peer decodes the blocks in the order of their
 * encoding.
 */
export class HeaderWriter {
  readonly encoder: Encoder = new Encoder(checkOutgoing);
  /** The peer's SETTINGS_MAX_HEADER_LIST_SIZE. */
  maxListSize: number = MAX_31_BITS;
  readonly #output: Output;
  /** The position of the block that is being written; 0: in an array of its own. */
  #start = 0;

  constructor(output: Output) {
    this.#output = output;
  }

  /** Throws for fields that {@link write} could not send. It serves callers that must not fail after a part was written. */
  check(list: FieldList): void {
    this.encoder.prepare(list);
    this.#checkSize(list, 0);
  }

  writeResponse(streamId: number, status: number, list: FieldList, isEnd: boolean): void {
    const { encoder } = this;
    const bound = encoder.prepare(list);
    this.#checkSize(list, status > 0 ? 42 : 0);
    const out = this.#memoryFor(bound);
    let at = encoder.begin(out, this.#start);
    if (status > 0) at = encoder.writeStatus(out, at, status);
    this.#finish(streamId, out, encoder.write(out, at, list), isEnd);
  }

  writeTrailers(streamId: number, list: FieldList): void {
    this.writeResponse(streamId, 0, list, true);
  }

  writeRequest(
    streamId: number,
    method: string,
    scheme: string,
    authority: string,
    path: string,
    list: FieldList,
    isEnd: boolean,
  ): void {
    const { encoder } = this;
    const out = this.#memoryFor(encoder.prepare(list, path, authority));
    const at = encoder.writeRequestLine(out, encoder.begin(out, this.#start), method, scheme, authority, path);
    this.#finish(streamId, out, encoder.write(out, at, list), isEnd);
  }

  /** Throws for a request that {@link writeRequest} could not send. */
  checkRequest(list: FieldList, path: string, authority: string): void {
    this.encoder.prepare(list);
    this.#checkSize(list, path.length + authority.length + 180);
  }

  #checkSize(list: FieldList, others: number): void {
    if (this.maxListSize === MAX_31_BITS) return;
    let size = others;
    for (const text of list.raw) size += text.length + ENTRY_OVERHEAD_BYTES / 2;
    if (size > this.maxListSize) {
      throw new HeadersTooLarge(`headers of ${size} bytes are more than the ${this.maxListSize} that the peer takes`);
    }
  }

  /** Returns memory for a block: the slab, after a frame header, or an array if the block may need several frames. */
  #memoryFor(bound: number): Uint8Array {
    const output = this.#output;
    this.#start = 0;
    if (bound > DEFAULT_MAX_FRAME_SIZE) return new Uint8Array(bound);
    output.reserve(bound + FRAME_HEADER_BYTES);
    this.#start = output.at + FRAME_HEADER_BYTES;
    return output.slab;
  }

  /** Writes the frames of a block. They must not be interrupted by other frames. */
  #finish(streamId: number, out: Uint8Array, end: number, isEnd: boolean): void {
    const output = this.#output;
    const endStream = isEnd ? Flag.EndStream : 0;
    const start = this.#start;
    if (start > 0) {
      const flags = Flag.EndHeaders | endStream;
      writeFrameHeader(out, start - FRAME_HEADER_BYTES, end - start, FrameType.Headers, flags, streamId);
      output.commit(end);
      return;
    }
    for (let at = 0; at < end; at += DEFAULT_MAX_FRAME_SIZE) {
      const length = Math.min(end - at, DEFAULT_MAX_FRAME_SIZE);
      const type = at === 0 ? FrameType.Headers : FrameType.Continuation;
      const flags = (at + length === end ? Flag.EndHeaders : 0) | (at === 0 ? endStream : 0);
      output.reserve(FRAME_HEADER_BYTES + length);
      output.commit(writeFrameHeader(output.slab, output.at, length, type, flags, streamId));
      output.slab.set(out.subarray(at, at + length), output.at);
      output.commit(output.at + length);
    }
  }
}
