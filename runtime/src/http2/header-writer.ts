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

/** The pseudo-header fields at the start of a block. */
interface FirstLine {
  readonly status: number;
  readonly method: string;
  readonly scheme: string;
  readonly authority: string;
  readonly path: string;
}

/**
 * Writes header blocks. Each is encoded when it is written, so that the peer decodes the blocks in the order of their
 * encoding.
 */
export class HeaderWriter {
  readonly encoder: Encoder = new Encoder(checkOutgoing);
  /** The peer's SETTINGS_MAX_HEADER_LIST_SIZE. */
  maxListSize: number = MAX_31_BITS;
  readonly #output: Output;

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
    if (bound > DEFAULT_MAX_FRAME_SIZE) {
      this.#writeLarge(streamId, bound, list, isEnd, { status, method: "", scheme: "", authority: "", path: "" });
      return;
    }
    const output = this.#output;
    output.reserve(bound + FRAME_HEADER_BYTES);
    const { slab } = output;
    const start = output.at + FRAME_HEADER_BYTES;
    let at = encoder.begin(slab, start);
    if (status > 0) at = encoder.writeStatus(slab, at, status);
    this.#finish(streamId, start, encoder.write(slab, at, list), isEnd);
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
    const bound = encoder.prepare(list, path, authority);
    if (bound > DEFAULT_MAX_FRAME_SIZE) {
      this.#writeLarge(streamId, bound, list, isEnd, { status: 0, method, scheme, authority, path });
      return;
    }
    const output = this.#output;
    output.reserve(bound + FRAME_HEADER_BYTES);
    const { slab } = output;
    const start = output.at + FRAME_HEADER_BYTES;
    const at = encoder.writeRequestLine(slab, encoder.begin(slab, start), method, scheme, authority, path);
    this.#finish(streamId, start, encoder.write(slab, at, list), isEnd);
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

  #finish(streamId: number, start: number, end: number, isEnd: boolean): void {
    const output = this.#output;
    const flags = Flag.EndHeaders | (isEnd ? Flag.EndStream : 0);
    writeFrameHeader(output.slab, start - FRAME_HEADER_BYTES, end - start, FrameType.Headers, flags, streamId);
    output.commit(end);
  }

  /** Writes a block that may need several frames, which must not be interrupted by other frames. */
  #writeLarge(streamId: number, bound: number, list: FieldList, isEnd: boolean, first: FirstLine): void {
    const { encoder } = this;
    const block = new Uint8Array(bound);
    let end = encoder.begin(block, 0);
    if (first.status > 0) end = encoder.writeStatus(block, end, first.status);
    else if (first.method !== "") {
      end = encoder.writeRequestLine(block, end, first.method, first.scheme, first.authority, first.path);
    }
    end = encoder.write(block, end, list);
    const output = this.#output;
    let at = 0;
    do {
      const length = Math.min(end - at, DEFAULT_MAX_FRAME_SIZE);
      const type = at === 0 ? FrameType.Headers : FrameType.Continuation;
      const isLast = at + length === end;
      const flags = (isLast ? Flag.EndHeaders : 0) | (isEnd && at === 0 ? Flag.EndStream : 0);
      output.reserve(FRAME_HEADER_BYTES + length);
      output.commit(writeFrameHeader(output.slab, output.at, length, type, flags, streamId));
      output.slab.set(block.subarray(at, at + length), output.at);
      output.commit(output.at + length);
      at += length;
    } while (at < end);
  }
}
