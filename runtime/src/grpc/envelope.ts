/**
 * Envelopes: the length-prefixed messages that the body of a gRPC request or response consists of.
 *
 *     Length-Prefixed-Message → Compressed-Flag Message-Length Message
 *     Compressed-Flag         → 0 / 1                  ; one byte
 *     Message-Length          → {length of Message}    ; four bytes, unsigned, big endian
 */
import type { DescMessage } from "@bufbuild/protobuf";
import { Code } from "../code.ts";
import type { Codec } from "../codec.ts";
import type { Compression } from "../compression.ts";
import { RpcError } from "../error.ts";
import { allocate, concat, tooLarge } from "../exchange.ts";
import { compressMessage, type ProtocolOptions } from "../protocol.ts";

/** One message as it travels. */
export interface Envelope {
  readonly compressed: boolean;
  readonly data: Uint8Array;
}

/** Bytes in front of every message. */
export const PREFIX_BYTES = 5;

/** Puts bytes into an envelope. */
export function encodeEnvelope(data: Uint8Array, compressed = false): Uint8Array {
  const bytes = allocate(PREFIX_BYTES + data.byteLength);
  bytes.set(data, PREFIX_BYTES);
  return writePrefix(bytes, compressed);
}

/** A message in its envelope, and compressed if it is better sent that way. */
export function encodeMessage(
  codec: Codec,
  type: DescMessage,
  message: object,
  compression: Compression | undefined,
  options: ProtocolOptions,
): Uint8Array | Promise<Uint8Array> {
  const envelope =
    codec.encodeBehind === undefined
      ? encodeEnvelope(codec.encode(type, message))
      : writePrefix(codec.encodeBehind(PREFIX_BYTES, type, message), false);
  if (compression === undefined) return envelope;
  const compressed = compressMessage(envelope.subarray(PREFIX_BYTES), compression, options);
  if (compressed === undefined) return envelope;
  return Promise.resolve(compressed).then((bytes) => encodeEnvelope(bytes, true));
}

function writePrefix(envelope: Uint8Array, compressed: boolean): Uint8Array {
  const length = envelope.byteLength - PREFIX_BYTES;
  envelope[0] = compressed ? 1 : 0;
  envelope[1] = length >>> 24;
  envelope[2] = length >>> 16;
  envelope[3] = length >>> 8;
  envelope[4] = length;
  return envelope;
}

/** Takes envelopes out of chunks, however the chunks are cut. */
export class EnvelopeReader {
  readonly #maxBytes: number;
  #chunks: Uint8Array[] = [];
  /** Where in the first chunk the next envelope starts. */
  #start = 0;
  /** Bytes from there to the end of the last chunk. */
  #buffered = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The envelopes that a chunk completes. Fails as {@link next} does. */
  *take(chunk: Uint8Array): Generator<Envelope, void> {
    this.push(chunk);
    for (let envelope = this.next(); envelope !== undefined; envelope = this.next()) yield envelope;
  }

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#buffered += chunk.byteLength;
  }

  /**
   * The next complete envelope; `undefined` until more chunks are pushed. Throws resource_exhausted as soon as a prefix
   * announces more than the limit, before its message is buffered, and internal for a flag that does not exist.
   */
  next(): Envelope | undefined {
    if (this.#buffered < PREFIX_BYTES) return undefined;
    const head = this.#join(PREFIX_BYTES);
    const at = this.#start;
    const flag = head[at] as number;
    const length =
      (head[at + 1] as number) * 0x1000000 +
      (((head[at + 2] as number) << 16) | ((head[at + 3] as number) << 8) | (head[at + 4] as number));
    if (flag > 1) throw new RpcError(Code.Internal, `envelope has the unknown flags 0x${flag.toString(16)}`);
    if (length > this.#maxBytes) throw tooLarge(this.#maxBytes);
    const size = PREFIX_BYTES + length;
    if (this.#buffered < size) return undefined;
    const bytes = this.#join(size);
    const start = this.#start;
    this.#drop(size);
    return { compressed: flag === 1, data: bytes.subarray(start + PREFIX_BYTES, start + size) };
  }

  /** Checks, at the end of the body, that no envelope was cut off. */
  finish(): void {
    if (this.#buffered > 0) {
      throw new RpcError(Code.Internal, `body ended in the middle of an envelope, after ${this.#buffered} bytes of it`);
    }
  }

  /** The first chunk, which then holds at least `length` bytes from the current position on. */
  #join(length: number): Uint8Array {
    const first = this.#chunks[0] as Uint8Array;
    if (first.byteLength - this.#start >= length) return first;
    this.#chunks[0] = first.subarray(this.#start);
    const joined = concat(this.#chunks, this.#buffered);
    this.#chunks = [joined];
    this.#start = 0;
    return joined;
  }

  #drop(length: number): void {
    this.#start += length;
    this.#buffered -= length;
    if (this.#start < (this.#chunks[0] as Uint8Array).byteLength) return;
    this.#chunks.shift();
    this.#start = 0;
  }
}

/** The one envelope of a unary body. `refuse` makes the error for a body that has none or several. */
export function onlyEnvelope(
  body: Uint8Array,
  maxBytes: number,
  refuse: (received: "none" | "more than one") => RpcError,
): Envelope {
  const reader = new EnvelopeReader(maxBytes);
  reader.push(body);
  const envelope = reader.next();
  if (envelope !== undefined && reader.next() !== undefined) throw refuse("more than one");
  reader.finish();
  if (envelope === undefined) throw refuse("none");
  return envelope;
}
