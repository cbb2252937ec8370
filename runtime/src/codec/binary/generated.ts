/** The functions and types that generated codecs import. */
export { setEntry } from "./map.ts";
export { createMessageCodec, type DecodeMessage, type MessageCodec } from "./message.ts";
export { EMPTY_BYTES, MessageReader } from "./reader.ts";
export type { ScalarReader } from "./scalar-reader.ts";
export type { Slab } from "./slab.ts";
export { structFromJson, structToJson } from "./struct.ts";
export type { UnknownField } from "./unknown.ts";
export { type EncodeMessage, MessageWriter } from "./writer.ts";
