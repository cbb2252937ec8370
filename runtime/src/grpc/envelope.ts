/**
 * Envelopes: the length-prefixed messages that the body of a gRPC request or response consists of.
 *
 *     Length-Prefixed-Message → Compressed-Flag Message-Length Message
 *     Compressed-Flag         → 0 / 1                  ; one byte
 *     Message-Length          → {length of Message}    ; four bytes, unsigned, big endian
 */
import { Code } from "../code.ts";
import { RpcError } from "../error.ts";
import { type Body, concat, tooLarge } from "../exchange.ts";

/** One message as it travels. */
export interface Envelope {
  readonly compressed: boolean;
  readonly data: Uint8Array;
}

/** Bytes in front of every message. */
export const PREFIX_BYTES = 5;

/** Where there is a Buffer, it cuts small pieces from a large one, which costs a fraction of a buffer of their own. */
const allocate: (length: number) => Uint8Array =
  typeof Buffer === "function" ? Buffer.allocUnsafe : (length) => new Uint8Array(length);

/** Puts a message into its envelope. */
export function encodeEnvelope(data: Uint8Array, compressed = false): Uint8Array {
  const length = data.byteLength;
  const bytes = allocate(PREFIX_BYTES + length);
  bytes[0] = compressed ? 1 : 0;
  bytes[1] = length >>> 24;
  bytes[2] = length >>> 16;
  bytes[3] = length >>> 8;
  bytes[4] = length;
  bytes.set(data, PREFIX_BYTES);
  return bytes;
}

/** Takes envelopes out of chunks, however the chunks are cut. */
export class EnvelopeReader {
  readonly #maxBytes: number;
  #chunks: Uint8Array[] = [];
  #buffered = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
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
    const end = endOfEnvelope(this.#join(PREFIX_BYTES), this.#maxBytes);
    if (this.#buffered < end) return undefined;
    const bytes = this.#join(end);
    this.#drop(end);
    return openEnvelope(bytes, end);
  }

  /** Checks, at the end of the body, that no envelope was cut off. */
  finish(): void {
    if (this.#buffered > 0) throw cutOff(this.#buffered);
  }

  /** A chunk that starts at the current position and holds at least `length` bytes. */
  #join(length: number): Uint8Array {
    const first = this.#chunks[0] as Uint8Array;
    if (first.byteLength >= length) return first;
    const joined = concat(this.#chunks, this.#buffered);
    this.#chunks = [joined];
    return joined;
  }

  #drop(length: number): void {
    const first = this.#chunks[0] as Uint8Array;
    if (first.byteLength === length) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(length);
    this.#buffered -= length;
  }
}

/** The envelopes of a body, one after the other. */
export async function* readEnvelopes(body: Body, maxBytes: number): AsyncGenerator<Envelope, void> {
  const reader = new EnvelopeReader(maxBytes);
  for await (const chunk of body) {
    reader.push(chunk);
    for (let envelope = reader.next(); envelope !== undefined; envelope = reader.next()) yield envelope;
  }
  reader.finish();
}

/** The one envelope of a unary body. `refuse` makes the error for a body that has none or several. */
export function onlyEnvelope(
  body: Uint8Array,
  maxBytes: number,
  refuse: (received: "none" | "more than one") => RpcError,
): Envelope {
  const { byteLength } = body;
  if (byteLength === 0) throw refuse("none");
  const end = byteLength < PREFIX_BYTES ? PREFIX_BYTES : endOfEnvelope(body, maxBytes);
  if (byteLength < end) throw cutOff(byteLength);
  if (byteLength > end) {
    const reader = new EnvelopeReader(maxBytes);
    reader.push(body.subarray(end));
    if (reader.next() !== undefined) throw refuse("more than one");
    reader.finish();
  }
  return openEnvelope(body, end);
}

/** Where the envelope ends whose prefix the bytes begin with. */
function endOfEnvelope(bytes: Uint8Array, maxBytes: number): number {
  const flag = bytes[0] as number;
  const length =
    (bytes[1] as number) * 0x1000000 +
    (((bytes[2] as number) << 16) | ((bytes[3] as number) << 8) | (bytes[4] as number));
  if (flag > 1) throw new RpcError(Code.Internal, `envelope has the unknown flags 0x${flag.toString(16)}`);
  if (length > maxBytes) throw tooLarge(maxBytes);
  return PREFIX_BYTES + length;
}

function openEnvelope(bytes: Uint8Array, end: number): Envelope {
  return { compressed: bytes[0] === 1, data: bytes.subarray(PREFIX_BYTES, end) };
}

function cutOff(bytes: number): RpcError {
  return new RpcError(Code.Internal, `body ended in the middle of an envelope, after ${bytes} bytes of it`);
}
