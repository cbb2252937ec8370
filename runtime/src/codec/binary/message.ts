/** Codecs of whole messages, made of the functions that the plugin generates. */
import { MessageReader } from "./scalar-reader.ts";
import type { MessageWriter } from "./slab.ts";
import { encodeInto } from "./writer.ts";

/** The binary codec of a message. */
export interface MessageCodec<Message> {
  /**
   * Encodes a message after `headroom` bytes (default: 0), which the caller fills in, so that a prefix needs no copy. The
   * result is a view of memory that other messages share: copy it to use its `buffer` or to keep a small message.
   */
  encode(message: Message, headroom?: number): Uint8Array;
  /** Decodes a message, or into the given one. Fields of bytes are views. Throws an `Error` for malformed bytes. */
  decode(bytes: Uint8Array, message?: Message): Message;
}

/**
 * Makes a codec of the two functions that are generated for a message. `decode` reads the fields of a message up to the offset
 * `end`, or, if it is negative, to the end of the group with the field number `-end`. It merges them into `message` if it is given.
 */
export function createMessageCodec<Message>(
  encode: (writer: MessageWriter, message: Message) => void,
  decode: (reader: MessageReader, end: number, message?: Message) => Message,
): MessageCodec<Message> {
  return {
    encode: (message, headroom = 0) => encodeInto(encode, message, headroom),
    decode: (bytes, message) => decode(new MessageReader(bytes), bytes.length, message),
  };
}
