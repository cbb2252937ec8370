/**
 * Writer of HEADERS and the CONTINUATION frames after it (RFC 9113, sections 6.2 and 6.10).
 */

import type { FieldList } from "../wire/fields.ts";
import type { Output } from "../wire/output.ts";
import { DEFAULT_MAX_FRAME_SIZE, Flag, FRAME_HEADER_BYTES, FrameType, MAX_31_BITS } from "./codes.ts";
import { writeFrameHeader } from "./frame.ts";
import { ENTRY_OVERHEAD_BYTES } from "./hpack/dynamic-table.ts";
import { Encoder } from "./hpack/encoder.ts";
import { checkOutgoing, checkRequestLine } from "./messages.ts";

/** A header block is larger than the peer's SETTINGS_MAX_HEADER_LIST_SIZE. Nothing of it has been sent. */
export class HeadersTooLarge extends TypeError {}

/** Writes header blocks. Each is encoded when it is written: peers decode blocks in the order of their encoding. */
export class HeaderWriter {
  readonly encoder: Encoder = new Encoder(checkOutgoing);
  readonly #output: Output;
  /** The peer's SETTINGS_MAX_HEADER_LIST_SIZE. */
  #maxListSize: number = MAX_31_BITS;
  /** The position of the block that is being written; 0: in an array of its own. */
  #start = 0;
  /**
   * The last request. Most requests repeat it, and then need no check; its block is copied if it has been written twice without
   * a change of the table since.
   */
  #method = "";
  #path = "";
  #list: FieldList | undefined;
  /** True if the last request has been checked since SETTINGS_MAX_HEADER_LIST_SIZE: one that waited for a stream may not have been. */
  #fits = false;
  #block: Uint8Array | undefined;
  #generation = -1;

  constructor(output: Output) {
    this.#output = output;
  }

  /** Throws for fields that {@link write} could not send. It serves callers that must not fail after a part was written. */
  check(list: FieldList): void {
    this.encoder.prepare(list);
    this.#checkSize(list, 0);
  }

  /** Writes a response, or trailers, which have the status 0. */
  writeResponse(streamId: number, status: number, list: FieldList, isEnd: boolean): void {
    const { encoder } = this;
    const bound = encoder.prepare(list);
    this.#checkSize(list, status > 0 ? 42 : 0);
    const out = this.#memoryFor(bound);
    let at = encoder.begin(out, this.#start);
    if (status > 0) at = encoder.writeStatus(out, at, status);
    this.#finish(streamId, out, encoder.write(out, at, list), isEnd);
  }

  /** Writes a request. Scheme and authority are those of the connection. */
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
    const { generation } = encoder;
    const isRepeated = list === this.#list && method === this.#method && path === this.#path;
    if (isRepeated && this.#block !== undefined && this.#generation === generation) {
      const flags = isEnd ? Flag.EndHeaders | Flag.EndStream : Flag.EndHeaders;
      this.#writeFrame(streamId, FrameType.Headers, flags, this.#block);
      return;
    }
    const out = this.#memoryFor(encoder.prepare(list, path, authority));
    const start = this.#start;
    const first = encoder.begin(out, start);
    const end = encoder.write(out, encoder.writeRequestLine(out, first, method, scheme, authority, path), list);
    // A block that changes the table or its size is another one the next time.
    const isFinal = isRepeated && encoder.generation === generation && first === start && start > 0;
    this.#block = isFinal ? out.slice(start, end) : undefined;
    this.#generation = generation;
    this.#fits &&= isRepeated;
    this.#method = method;
    this.#path = path;
    this.#list = list.frozen ? list : undefined;
    this.#finish(streamId, out, end, isEnd);
  }

  /** Throws for a request that {@link writeRequest} could not send. */
  checkRequest(method: string, path: string, authority: string, list: FieldList): void {
    const isSameLine = method === this.#method && path === this.#path;
    const isRepeated = isSameLine && list === this.#list;
    if (isRepeated && this.#fits) return;
    if (!isSameLine) checkRequestLine(method, path);
    this.encoder.prepare(list);
    this.#checkSize(list, path.length + authority.length + 180);
    this.#fits = isRepeated;
  }

  /** Applies SETTINGS_MAX_HEADER_LIST_SIZE. */
  limit(maxListSize: number): void {
    this.#maxListSize = maxListSize;
    this.#fits = false;
  }

  #checkSize(list: FieldList, others: number): void {
    if (this.#maxListSize === MAX_31_BITS) return;
    let size = others;
    for (const text of list.raw) size += text.length + ENTRY_OVERHEAD_BYTES / 2;
    if (size > this.#maxListSize) {
      throw new HeadersTooLarge(`headers of ${size} bytes are more than the ${this.#maxListSize} that the peer takes`);
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
    const start = this.#start;
    if (start > 0) {
      const flags = isEnd ? Flag.EndHeaders | Flag.EndStream : Flag.EndHeaders;
      writeFrameHeader(out, start - FRAME_HEADER_BYTES, end - start, FrameType.Headers, flags, streamId);
      output.commit(end);
      return;
    }
    for (let at = 0; at < end; at += DEFAULT_MAX_FRAME_SIZE) {
      const length = Math.min(end - at, DEFAULT_MAX_FRAME_SIZE);
      const type = at === 0 ? FrameType.Headers : FrameType.Continuation;
      const flags = (at + length === end ? Flag.EndHeaders : 0) | (at === 0 && isEnd ? Flag.EndStream : 0);
      this.#writeFrame(streamId, type, flags, out.subarray(at, at + length));
    }
  }

  #writeFrame(streamId: number, type: number, flags: number, payload: Uint8Array): void {
    const output = this.#output;
    output.reserve(FRAME_HEADER_BYTES + payload.length);
    output.commit(writeFrameHeader(output.slab, output.at, payload.length, type, flags, streamId));
    output.slab.set(payload, output.at);
    output.commit(output.at + payload.length);
  }
}
