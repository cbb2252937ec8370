/**
 * The messages of a body of sub-protocol B: extracted from their envelopes, decompressed and decoded one by one.
 */
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { countMessage } from "../call/event-loop.ts";
import type { Compression } from "../codec/compression.ts";
import type { Body } from "../http/body.ts";
import { decompressMessage } from "../protocol/message.ts";
import type { ProtocolOptions } from "../protocol/options.ts";
import { EnvelopeReader } from "./envelope.ts";

/** Settings for reading a stream of messages. */
export interface MessageReading {
  /** The compression of messages that are marked as compressed, or `undefined` if there is none. */
  readonly compression: Compression | undefined;
  readonly options: Pick<ProtocolOptions, "maxMessageBytes">;
  decode(bytes: Uint8Array): object | Promise<object>;
  /** Converts the error of a body that cannot be read. Default: the error itself. */
  failed?(reason: unknown): unknown;
  /** Called after the last message. It may throw. */
  ended?(): void;
}

/** Reads the messages of a stream. */
export async function* readMessages(body: Body, reading: MessageReading): AsyncGenerator<object, undefined> {
  const { compression, options } = reading;
  const envelopes = new EnvelopeReader(options.maxMessageBytes);
  try {
    for await (const chunk of body) {
      for (const { compressed, data } of envelopes.take(chunk)) {
        yield reading.decode(compressed ? await inflate(data, compression, options) : data);
        // A chunk may contain thousands of empty messages, so the loop yields to the event loop between them.
        const turn = countMessage();
        if (turn !== undefined) await turn;
      }
    }
    envelopes.finish();
  } catch (reason) {
    throw reading.failed === undefined ? reason : reading.failed(reason);
  }
  reading.ended?.();
}

/** Decompresses a message that is marked as compressed. Throws `internal` if the headers name no compression. */
export function inflate(
  data: Uint8Array,
  compression: Compression | undefined,
  options: Pick<ProtocolOptions, "maxMessageBytes">,
): Promise<Uint8Array> {
  if (compression !== undefined) return decompressMessage(data, compression, options, internalError);
  throw new RpcError(Code.Internal, "a message is marked as compressed, but grpc-encoding names no compression");
}

/** Creates the error for data that violates the format of sub-protocol B. */
export function internalError(message: string, cause: unknown): RpcError {
  return new RpcError(Code.Internal, message, { cause });
}
