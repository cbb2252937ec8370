/** The functions and types that generated codecs import. */
export * from "./map.ts";
export { createMessageCodec, type MessageCodec } from "./message.ts";
export * from "./reader.ts";
export {
  MessageReader,
  readBool,
  readBytes,
  readDouble,
  readEndOffset,
  readEnum,
  readFixed32,
  readFixed64,
  readFloat,
  readInt32,
  readInt64,
  readLenientString,
  readSfixed32,
  readSfixed64,
  readSint32,
  readSint64,
  readString,
  readUint64,
  readVarint32,
} from "./scalar-reader.ts";
export { MessageWriter } from "./slab.ts";
export { structFromJson, structToJson } from "./struct.ts";
export {
  beginField,
  checkType,
  endField,
  requiredField,
  type UnknownField,
  writeBool,
  writeBytes,
  writeDouble,
  writeFixed32,
  writeFixed64,
  writeFloat,
  writeInt32,
  writeInt64,
  writeSfixed32,
  writeSfixed64,
  writeSint32,
  writeSint64,
  writeString,
  writeTag,
  writeUint64,
  writeUnknown,
  writeVarint32,
} from "./writer.ts";
