/**
 * Bodies of requests and responses: complete bytes, or a stream of chunks.
 */
import { concat, NO_BYTES } from "../call/bytes.ts";
import { Code, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { iteration } from "../call/message-stream.ts";

/** The body of a request or response, read once by `bytes` or by a loop, which cancels the rest when it is left. */
export interface Body extends AsyncIterable<Uint8Array> {
  /** The complete bytes, which an engine can write in one flush. `undefined` for a stream of chunks. */
  readonly whole?: Uint8Array | undefined;
  /**
   * Reads all bytes. Rejects with `resource_exhausted` as soon as there are more than `limit` plus `framing` bytes, where
   * `framing` is the number of bytes that a protocol adds to a message (default: 0). Also rejects with the error that
   * `check` throws, which is called with the chunks that have arrived, their total length, and `limit`, so that it can refuse
   * the body before its end.
   */
  bytes(
    limit: number,
    framing?: number,
    check?: (chunks: readonly Uint8Array[], bytes: number, limit: number) => void,
  ): Promise<Uint8Array>;
}

/** Checks the chunks of a body as they arrive. */
export type BodyCheck = NonNullable<Parameters<Body["bytes"]>[2]>;

/** A step of an iteration over chunks. */
export type Step = IteratorResult<Uint8Array, undefined>;
/** Receives a step. */
export type OnStep = (step: Step) => void;
/** Receives the error of a body. */
export type OnError = (reason: unknown) => void;

/** An iterator of chunks. With `request` it returns the next one or passes it to a function, which saves a promise for each. */
export interface ChunkSource extends AsyncIterator<Uint8Array, undefined> {
  /** Requests the next chunk. Returns it, or calls one of the functions, once and later, before which it is not called again. */
  request?(onStep: OnStep, onError: OnError): Step | undefined;
  /**
   * Reports how many of the bytes that were read the reader keeps until it has more, because they are an incomplete
   * message. They count against the memory budget. If they do not fit into it, the next read fails.
   */
  keep?(bytes: number): void;
}

/** Requests the next chunk of an iterator that may lack `request`. */
export function requestChunk(chunks: ChunkSource, onStep: OnStep, onError: OnError): Step | undefined {
  if (chunks.request !== undefined) return chunks.request(onStep, onError);
  chunks.next().then(onStep, onError);
  return undefined;
}

/** Returns the next chunk as a promise, for iterators that implement `request`. */
export function nextChunk(request: NonNullable<ChunkSource["request"]>): Promise<Step> {
  return new Promise((resolve, reject) => {
    const step = request(resolve, reject);
    if (step !== undefined) resolve(step);
  });
}

/** A body of complete bytes. */
export class WholeBody implements Body {
  declare readonly whole: Uint8Array;
  constructor(whole: Uint8Array) {
    this.whole = whole;
  }
  bytes(limit: number, framing = 0): Promise<Uint8Array> {
    const size = this.whole.length - framing;
    return size > limit ? Promise.reject(tooLarge(limit, size)) : Promise.resolve(this.whole);
  }
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, undefined> {
    if (this.whole.length > 0) yield this.whole;
  }
}

/** Creates a body from a stream of chunks. */
export function streamBody(stream: AsyncIterable<Uint8Array>): Body {
  return {
    async bytes(limit, framing = 0, check) {
      const chunks: Uint8Array[] = [];
      let length = 0;
      for await (const chunk of stream) {
        length += chunk.length;
        if (length > limit + framing) throw tooLarge(limit, `at least ${length - framing}`);
        chunks.push(chunk);
        check?.(chunks, length, limit);
      }
      return concat(chunks, length);
    },
    [Symbol.asyncIterator]: () => stream[Symbol.asyncIterator](),
  };
}

/**
 * Calls `begin` when the body is about to be read: a server sends 100 (Continue) then, and not to a client whose request it
 * refuses by its head (RFC 9110, section 10.1.1).
 */
export function onRead(body: Body, begin: () => void): Body {
  return {
    bytes(limit, framing, check) {
      begin();
      return body.bytes(limit, framing, check);
    },
    [Symbol.asyncIterator]() {
      begin();
      return body[Symbol.asyncIterator]();
    },
  };
}

/** A body without bytes. */
export const emptyBody: Body = new WholeBody(NO_BYTES);

/** Cancels a body that will not be read, so that its connection can be reused. */
export function cancelBody(body: Body): void {
  body[Symbol.asyncIterator]()
    .return?.()
    .catch(() => {});
}

/** Creates the error for a message or body over the limit. The size is a lower bound if the rest was not read. */
export function tooLarge(limit: number, size: number | `at least ${number}`): RpcError {
  return new RpcError(
    Code.ResourceExhausted,
    `message of ${size} bytes is larger than the limit of ${limit} bytes (option maxMessageBytes of the receiver)`,
    { status: Status.BadRequest },
  );
}

/** Yields the chunks of a stream, which `return` cancels at any time. If it fails, throws what `toError` makes of the reason. */
export function readChunks(
  stream: ReadableStream<Uint8Array>,
  toError: (cause: unknown) => unknown,
): AsyncIterableIterator<Uint8Array, undefined> {
  // A stream that is not read is not locked.
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  return iteration(
    async () => {
      try {
        reader ??= stream.getReader();
        return (await reader.read()) as Step;
      } catch (cause) {
        throw toError(cause);
      }
    },
    () => void (reader ?? stream).cancel().catch(() => {}),
  );
}

/** Reads a generator over chunks. To leave it ends the chunks at once, which a generator that waits or has not begun would not. */
export function endWith<T>(
  chunks: AsyncIterator<unknown>,
  generator: AsyncGenerator<T, void>,
): AsyncIterableIterator<T, undefined> {
  return iteration(
    () => generator.next() as Promise<IteratorResult<T, undefined>>,
    () => {
      chunks.return?.().catch(() => {});
      return generator.return();
    },
  );
}
