/**
 * Bodies of requests and responses: bytes that are known from the start, or a stream of chunks.
 */
import { Code, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";

/** The bytes of a request or response. They can be read once, by `bytes` or by iteration. Leaving the loop early cancels the rest. */
export interface Body extends AsyncIterable<Uint8Array> {
  /** All bytes, if they are known from the start, so that an engine can write them in one flush. */
  readonly whole?: Uint8Array | undefined;
  /**
   * Reads all bytes. Rejects with `resource_exhausted`, and buffers no more, if there are more than `limit` besides the
   * `framing` bytes that a protocol puts around a message. Rejects with the error that `check` throws.
   */
  bytes(limit: number, framing?: number, check?: BodyCheck): Promise<Uint8Array>;
}

/**
 * Checks the chunks of a body as they arrive, and throws to refuse the body before its end. `bytes` is the length of all chunks,
 * `limit` the one given to {@link Body.bytes}.
 */
export type BodyCheck = (chunks: readonly Uint8Array[], bytes: number, limit: number) => void;

const NO_BYTES = new Uint8Array(0);

class WholeBody implements Body {
  readonly whole: Uint8Array;
  constructor(whole: Uint8Array) {
    this.whole = whole;
  }
  async bytes(limit: number, framing = 0): Promise<Uint8Array> {
    if (this.whole.byteLength > limit + framing) throw tooLarge(limit, this.whole.byteLength - framing);
    return this.whole;
  }
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, undefined> {
    if (this.whole.byteLength > 0) yield this.whole;
  }
}

class StreamBody implements Body {
  readonly whole = undefined;
  readonly #chunks: AsyncIterable<Uint8Array>;
  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks;
  }
  async bytes(limit: number, framing = 0, check?: BodyCheck): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of this.#chunks) {
      length += chunk.byteLength;
      if (length > limit + framing) throw tooLarge(limit, `at least ${length - framing}`);
      chunks.push(chunk);
      check?.(chunks, length, limit);
    }
    return concat(chunks, length);
  }
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#chunks[Symbol.asyncIterator]();
  }
}

/** A body whose bytes are all known. */
export function wholeBody(bytes: Uint8Array): Body {
  return new WholeBody(bytes);
}

/** A body that arrives in chunks. */
export function streamBody(chunks: AsyncIterable<Uint8Array>): Body {
  return new StreamBody(chunks);
}

/** A body without bytes. */
export const emptyBody: Body = wholeBody(NO_BYTES);

/** Cancels a body that is not read, so that its connection can be reused. */
export function cancelBody(body: Body): void {
  body[Symbol.asyncIterator]()
    .return?.()
    .catch(() => {});
}

/** Joins chunks. A single chunk is returned without a copy. */
export function concat(chunks: readonly Uint8Array[], length: number): Uint8Array {
  if (chunks.length <= 1) return chunks[0] ?? NO_BYTES;
  const joined = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    joined.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return joined;
}

/** The error for a message or body over the limit. The size is a lower bound if the rest was not read. */
export function tooLarge(limit: number, size: number | `at least ${number}`): RpcError {
  return new RpcError(
    Code.ResourceExhausted,
    `message of ${size} bytes is larger than the limit of ${limit} bytes (option maxMessageBytes of the receiver)`,
    { status: Status.BadRequest },
  );
}
