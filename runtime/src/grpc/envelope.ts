/**
 * Envelopes: the length-prefixed messages in the body of a gRPC request or response.
 *
 *     Length-Prefixed-Message → Compressed-Flag Message-Length Message
 *     Compressed-Flag         → 0 / 1                  ; one byte
 *     Message-Length          → {length of Message}    ; four bytes, unsigned, big endian
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { RequestContext } from "../call/attempt.ts";
import { concat } from "../call/bytes.ts";
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import type { GeneratedCodec, Method } from "../call/method.ts";
import type { Codec } from "../codec/codec.ts";
import type { Compression } from "../codec/compression.ts";
import { type BodyCheck, tooLarge } from "../http/body.ts";
import type { ProtocolOptions } from "../protocol/options.ts";

/** A message on the wire. */
export interface Envelope {
  readonly compressed: boolean;
  /** A plain `Uint8Array`, see {@link plainBytes}. */
  readonly data: Uint8Array;
}

/** Length of the prefix of each message, in bytes. */
export const PREFIX_BYTES = 5;

/** Checks the prefix of a unary body before the message is buffered, with the errors of {@link EnvelopeReader.next}. */
export const checkPrefix: BodyCheck = (chunks, bytes, limit) => {
  const before = bytes - (chunks.at(-1)?.length ?? 0);
  if (before < PREFIX_BYTES && bytes >= PREFIX_BYTES) endOfEnvelope(prefixOf(chunks), 0, limit);
};

/** Returns the first bytes, and copies no more than a prefix: a growing first chunk is checked many times. */
function prefixOf(chunks: readonly Uint8Array[]): Uint8Array {
  const [first] = chunks;
  if (first !== undefined && first.length >= PREFIX_BYTES) return first;
  const prefix = new Uint8Array(PREFIX_BYTES);
  let length = 0;
  for (const chunk of chunks) {
    const part = chunk.subarray(0, PREFIX_BYTES - length);
    prefix.set(part, length);
    length += part.length;
  }
  return prefix;
}

/** Allocates bytes: small ones from the pool of `Buffer.allocUnsafe`, which is much faster than a new `Uint8Array`. */
const allocate: (length: number) => Uint8Array =
  typeof Buffer === "function" ? allocatePooled : (length) => new Uint8Array(length);

function allocatePooled(length: number): Uint8Array {
  const { buffer, byteOffset } = Buffer.allocUnsafe(length);
  // An in-memory transport passes these bytes to users in decoded messages, so they must be a plain Uint8Array.
  return new Uint8Array(buffer, byteOffset, length);
}

/** Encodes bytes as an envelope with the flags: 1 if they are compressed. */
export function encodeEnvelope(data: Uint8Array, flags = 0): Uint8Array {
  const bytes = allocate(PREFIX_BYTES + data.length);
  bytes.set(data, PREFIX_BYTES);
  return writePrefix(bytes, flags);
}

/** Encodes a message as an envelope. */
export function encodeMessage(
  codec: Codec,
  type: DescMessage,
  message: object,
  generated: GeneratedCodec | undefined,
): Uint8Array {
  if (codec.encodeWithHeadroom === undefined) return encodeEnvelope(codec.encode(type, message, generated));
  return writePrefix(codec.encodeWithHeadroom(PREFIX_BYTES, type, message, generated), 0);
}

/** Compresses the message of an envelope, and counts it. Returns `undefined` if it should be sent uncompressed. */
export function compressEnvelope(
  envelope: Uint8Array,
  compression: Compression | undefined,
  options: Pick<ProtocolOptions, "compressMinBytes">,
  context: RequestContext,
): Promise<Uint8Array> | undefined {
  const length = envelope.length - PREFIX_BYTES;
  if (context.sentBytes !== undefined) context.sentBytes += length;
  if (compression === undefined || length < options.compressMinBytes) return undefined;
  const compressed = compression.compress(envelope.subarray(PREFIX_BYTES));
  return (
    compressed &&
    Promise.resolve(compressed).then((bytes) => {
      if (context.sentBytes !== undefined) context.sentBytes += bytes.length - length;
      return encodeEnvelope(bytes, 1);
    })
  );
}

function writePrefix(envelope: Uint8Array, flags: number): Uint8Array {
  const length = envelope.length - PREFIX_BYTES;
  envelope[0] = flags;
  envelope[1] = length >>> 24;
  envelope[2] = length >>> 16;
  envelope[3] = length >>> 8;
  envelope[4] = length;
  return envelope;
}

/** Extracts envelopes from chunks of any size. */
export class EnvelopeReader {
  readonly #maxBytes: number;
  #chunks: Uint8Array[] = [];
  /** Offset of the next envelope in the first chunk. */
  #start = 0;
  /** The memory of the first chunk and its offset there, from its first envelope on: their getters are calls. */
  #buffer: ArrayBufferLike | undefined;
  #offset = 0;
  /** Bytes from that offset to the end of the last chunk. */
  buffered = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.buffered += chunk.length;
  }

  /**
   * Returns the next complete envelope, or `undefined` until more chunks are pushed. Throws `resource_exhausted` if a
   * prefix announces more bytes than the limit, before the message is buffered, and `internal` for an unknown flag.
   */
  next(): Envelope | undefined {
    if (this.buffered < PREFIX_BYTES) return undefined;
    const end = endOfEnvelope(this.#join(PREFIX_BYTES), this.#start, this.#maxBytes);
    const size = end - this.#start;
    if (this.buffered < size) return undefined;
    const bytes = this.#join(size);
    if (this.#start === 0) ({ buffer: this.#buffer, byteOffset: this.#offset } = bytes);
    const start = this.#start;
    const data = new Uint8Array(this.#buffer as ArrayBuffer, this.#offset + start + PREFIX_BYTES, size - PREFIX_BYTES);
    this.#drop(size);
    return { compressed: bytes[start] === 1, data };
  }

  /** Checks at the end of the body that no envelope is incomplete. Throws `internal` if one is. */
  finish(): void {
    if (this.buffered > 0) throw cutOff(this.buffered);
  }

  /** Joins chunks until the first one has at least `length` bytes from the current offset on, and returns it. */
  #join(length: number): Uint8Array {
    const first = this.#chunks[0] as Uint8Array;
    if (first.length - this.#start >= length) return first;
    this.#chunks[0] = first.subarray(this.#start);
    const joined = concat(this.#chunks, this.buffered);
    this.#chunks = [joined];
    this.#start = 0;
    return joined;
  }

  #drop(length: number): void {
    this.#start += length;
    this.buffered -= length;
    if (this.#start < (this.#chunks[0] as Uint8Array).length) return;
    this.#chunks.shift();
    this.#buffer = undefined;
    this.#start = 0;
  }
}

/** Returns the single envelope of a unary body. `countError` creates the error for a body with none or several. */
export function onlyEnvelope(
  body: Uint8Array,
  maxBytes: number,
  countError: (method: Method, received: "none" | "more than one") => RpcError,
  method: Method,
): Envelope {
  const { length } = body;
  if (length === 0) throw countError(method, "none");
  const end = length < PREFIX_BYTES ? PREFIX_BYTES : endOfEnvelope(body, 0, maxBytes);
  if (length < end) throw cutOff(length);
  if (length > end) {
    const reader = new EnvelopeReader(maxBytes);
    reader.push(body.subarray(end));
    if (reader.next() !== undefined) throw countError(method, "more than one");
    reader.finish();
  }
  const data = new Uint8Array(body.buffer, body.byteOffset + PREFIX_BYTES, end - PREFIX_BYTES);
  return { compressed: body[0] === 1, data };
}

/** Returns the end of the envelope whose prefix is at the offset. */
function endOfEnvelope(bytes: Uint8Array, start: number, maxBytes: number): number {
  const flag = bytes[start] as number;
  const length =
    (bytes[start + 1] as number) * 0x1000000 +
    (((bytes[start + 2] as number) << 16) | ((bytes[start + 3] as number) << 8) | (bytes[start + 4] as number));
  if (flag > 1) throw new RpcError(Code.Internal, `envelope has the unknown flags 0x${flag.toString(16)}`);
  if (length > maxBytes) throw tooLarge(maxBytes, length);
  return start + PREFIX_BYTES + length;
}

function cutOff(bytes: number): RpcError {
  return new RpcError(Code.Internal, `body ended in the middle of an envelope (${bytes} bytes)`);
}
