/** The messages of a body of sub-protocol B: extracted from their envelopes, decompressed and decoded one by one. */
import type { RequestContext } from "../call/attempt.ts";
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { DONE, MessageStream } from "../call/message-stream.ts";
import type { Compression } from "../codec/compression.ts";
import type { Body, ChunkSource } from "../http/body.ts";
import { decompressMessage } from "../protocol/message.ts";
import type { ProtocolOptions } from "../protocol/options.ts";
import { EnvelopeReader } from "./envelope.ts";

/** Settings for reading a stream of messages. */
export interface MessageReading {
  readonly context: RequestContext;
  /** Decompresses messages that are marked as compressed. `undefined`: they are an error. */
  readonly inflate: ((data: Uint8Array) => Promise<Uint8Array>) | undefined;
  readonly options: Pick<ProtocolOptions, "maxMessageBytes">;
  decode(bytes: Uint8Array): object | Promise<object>;
  /** Called when the reader waits for a message that has not arrived. It has finished with the one before. */
  readonly waits?: (() => void) | undefined;
  /** Converts the error of a body that cannot be read. Default: the error itself. */
  failed?(reason: unknown): unknown;
  /** Called after the last message. It may throw. */
  ended?(): void;
}

/** The messages of a stream that is received. */
export class ReceivedMessages extends MessageStream {
  readonly #reading: MessageReading;
  readonly #chunks: ChunkSource;
  readonly #envelopes: EnvelopeReader;
  /** The next message, or the failure to decode it, if that takes time or has to be reported by {@link wait}. */
  #decoding: Promise<object> | undefined;
  #isOver = false;

  constructor(body: Body, reading: MessageReading) {
    super();
    this.#reading = reading;
    this.#chunks = body[Symbol.asyncIterator]();
    this.#envelopes = new EnvelopeReader(reading.options.maxMessageBytes);
  }

  protected ready(): object | undefined {
    if (this.#isOver || this.#decoding !== undefined) return undefined;
    try {
      const message = this.#decodeNext();
      if (!(message instanceof Promise)) return message;
      this.#decoding = message;
    } catch (reason) {
      this.#decoding = Promise.reject(reason);
    }
    this.#decoding.catch(() => {});
    return undefined;
  }

  protected async wait(): Promise<IteratorResult<object, undefined>> {
    try {
      while (!this.#isOver) {
        const next = this.#decoding ?? this.#decodeNext();
        if (next !== undefined) {
          const value = next instanceof Promise ? await next : next;
          this.#decoding = undefined;
          return { done: false, value };
        }
        this.#reading.waits?.();
        this.#chunks.keep?.(this.#envelopes.buffered);
        const step = await this.#chunks.next();
        if (step.done) break;
        this.#envelopes.push(step.value);
      }
      if (this.#isOver) return DONE;
      this.#isOver = true;
      this.#envelopes.finish();
    } catch (reason) {
      this.#isOver = true;
      await this.#chunks.return?.().catch(() => {});
      throw this.#reading.failed === undefined ? reason : this.#reading.failed(reason);
    } finally {
      this.waited();
    }
    this.#reading.ended?.();
    return DONE;
  }

  protected leave(): unknown {
    this.#isOver = true;
    return this.#chunks.return?.();
  }

  /** Decodes the next message that has been received, if there is one. */
  #decodeNext(): object | Promise<object> | undefined {
    const { inflate, context } = this.#reading;
    const envelope = this.#envelopes.next();
    if (envelope === undefined) return undefined;
    const { compressed, data } = envelope;
    if (context.receivedBytes !== undefined) context.receivedBytes += data.length;
    if (!compressed) return this.#reading.decode(data);
    if (inflate === undefined) throw unnamedCompression();
    return inflate(data).then((inflated) => this.#reading.decode(inflated));
  }
}

/** Decompresses a message that is marked as compressed. Throws `internal` if the headers name no compression. */
export function inflate(
  data: Uint8Array,
  compression: Compression | undefined,
  options: Pick<ProtocolOptions, "maxMessageBytes">,
): Promise<Uint8Array> {
  if (compression === undefined) throw unnamedCompression();
  return decompressMessage(data, compression, options, internalError);
}

/** The error of a message that is marked as compressed, if the headers name no compression. */
function unnamedCompression(): RpcError {
  return new RpcError(Code.Internal, "a message is marked as compressed without grpc-encoding");
}

/** Creates the error for data that violates the format of sub-protocol B. */
export function internalError(message: string, cause?: unknown): RpcError {
  return new RpcError(Code.Internal, message, { cause });
}
