/** Whole messages through the functions that the plugin generates with `codecs=true`. */
import { MessageReader } from "./reader.ts";
import { MessageWriter } from "./writer.ts";

/** Writes the fields of a message. */
export type EncodeMessage<Message> = (writer: MessageWriter, message: Message) => void;

/**
 * Reads the fields of a message up to the offset `end`, or, where it is negative, up to the end of the group with the field
 * number `-end`. Merges them into `message` if one is given.
 */
export type DecodeMessage<Message> = (reader: MessageReader, end: number, message?: Message) => Message;

/** A message's own encoding, generated with `codecs=true`. */
export interface MessageCodec<Message> {
  /**
   * Encodes a message after `headroom` bytes (default: 0), which the caller fills in, so that a prefix needs no copy. The
   * result is a view of memory that other messages share: copy it before its `buffer` is used or a small message is kept.
   */
  encode(message: Message, headroom?: number): Uint8Array;
  /**
   * Decodes a message, or merges into the given one. Its bytes fields are views of the given bytes. Throws an `Error` for
   * malformed bytes.
   */
  decode(bytes: Uint8Array, message?: Message): Message;
}

/** Makes a codec of the two functions that are generated for a message. */
export function createMessageCodec<Message>(
  encode: EncodeMessage<Message>,
  decode: DecodeMessage<Message>,
): MessageCodec<Message> {
  return {
    encode: (message, headroom = 0) => encodeInto(encode, message, headroom),
    decode: (bytes, message) => decode(new MessageReader(bytes), bytes.length, message),
  };
}

/** Kept for reuse; `undefined` while in use, because a getter of a message may encode another one. */
let idle: MessageWriter | undefined = new MessageWriter();

/** Encodes a message by its function, after `headroom` bytes. */
export function encodeInto<Message>(encode: EncodeMessage<Message>, message: Message, headroom: number): Uint8Array {
  const writer = idle ?? new MessageWriter();
  idle = undefined;
  try {
    writer.begin(headroom);
    encode(writer, message);
    return writer.finish();
  } finally {
    idle = writer;
  }
}
