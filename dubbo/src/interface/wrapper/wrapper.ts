/**
 * Wrapper mode: the messages of interface methods in sub-protocol B (spec: Payload schema of the extended content type;
 * `proto/org/apache/dubbo/triple/triple_wrapper.proto`). The method decides whether a message is wrapped, never the content
 * type.
 */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** The header of responses that contain an exception. Its value is a code of Dubbo's `RpcException`. */
export const EXCEPTION_CODE = "tri-exception-code";

/** A request with its arguments and the names of their types, or a response with its value and the name of its type. */
export interface Wrapper {
  /** Name of the serialization on the wire. */
  readonly serializeType: string;
  readonly values: readonly Uint8Array[];
  readonly types: readonly string[];
}

/** Most parameters of a Java method (JVM specification, section 4.3.3). */
const MAX_VALUES = 255;
/** Most fields of a wrapper, including repeated and unknown ones. Wrappers of peers have no others than those above. */
const MAX_WRAPPER_FIELDS = 1_024;

/** Encodes all fields, including empty ones, because peers require each field and no others. */
export function encodeWrapper({ serializeType, values, types }: Wrapper): Uint8Array {
  const writer = new BinaryWriter();
  writer.tag(1, WireType.LengthDelimited).string(serializeType);
  for (const value of values) writer.tag(2, WireType.LengthDelimited).bytes(value);
  for (const type of types) writer.tag(3, WireType.LengthDelimited).string(type);
  return writer.finish();
}

/** Decodes a wrapper. Throws for malformed bytes and for too many fields, and skips unknown fields. */
export function decodeWrapper(bytes: Uint8Array): Wrapper {
  const reader = new BinaryReader(bytes);
  const values: Uint8Array[] = [];
  const types: string[] = [];
  let serializeType = "";
  for (let fields = 1; reader.pos < reader.len; fields += 1) {
    if (fields > MAX_WRAPPER_FIELDS) throw new Error(`the message has more than ${MAX_WRAPPER_FIELDS} fields`);
    const [field, wireType] = reader.tag();
    if (field > 3) skip(reader, field, wireType);
    else if (wireType !== WireType.LengthDelimited) throw new Error(`field ${field} has the wire type ${wireType}`);
    else if (field === 1) serializeType = reader.string();
    else if (field === 2) values.push(reader.bytes());
    else types.push(reader.string());
    if (values.length > MAX_VALUES || types.length > MAX_VALUES) throw new Error(`more than ${MAX_VALUES} arguments`);
  }
  return { serializeType, values, types };
}

/** Skips a field. Groups are refused, because skipping nested groups recurses and could overflow the stack. */
function skip(reader: BinaryReader, field: number, wireType: WireType): void {
  if (wireType === WireType.StartGroup || wireType === WireType.EndGroup) throw new Error(`field ${field} is a group`);
  reader.skip(wireType, field);
}
