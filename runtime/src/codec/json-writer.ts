/**
 * Writer of protobuf's JSON format, from the message or init shape of a handler straight into bytes. It writes the same text as
 * protobuf-es, and leaves to it whatever is rare or invalid.
 */
import { type DescMessage, toJson } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { type MessageWriter, reserve } from "./binary/slab.ts";
import { encodeInto, writeEncoded } from "./binary/writer.ts";
import { encodeJson, encodeUtf8, toMessage } from "./codec.ts";
import { type FieldPlan, jsonNameOf, Kind, leave, type MessagePlan, planOf, Shape } from "./json-fields.ts";
import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "./json-syntax.ts";

type Members = Readonly<Record<string, unknown>>;

/** Encodes a message or an init shape. Returns `undefined` if protobuf-es has to encode it, or to refuse it. */
export function writeJson(type: DescMessage, message: object): Uint8Array | undefined {
  const plan = planOf(type);
  if (plan.fields === undefined) return undefined;
  try {
    return encodeInto((writer) => writeMessage(writer, plan, message, false), message, 0);
  } catch {
    return undefined;
  }
}

/** Writes a message or, in an init shape, another object. `isTyped`: it is a part of a message. */
function writeMessage(writer: MessageWriter, { type, fields }: MessagePlan, value: unknown, isTyped: boolean): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) leave();
  const isMessage = (value as Members)["$typeName"] === type.typeName;
  if (isTyped && !isMessage) leave();
  if (fields === undefined) {
    // Not JSON for some values of google.protobuf.Value that are not valid.
    writeEncoded(writer, encodeJson(toJson(type, toMessage(type, value)) ?? leave()));
    return;
  }
  const start = writer.pos - writer.start;
  for (let i = 0; i < fields.length; i++) writeField(writer, fields[i] as FieldPlan, value as Members, isMessage);
  close(writer, start, OPEN_OBJECT, CLOSE_OBJECT);
}

function writeField(writer: MessageWriter, plan: FieldPlan, message: Members, isTyped: boolean): void {
  const { property, shape } = plan;
  let value = message[property];
  if (value === undefined || value === null) {
    if (isTyped && (value === null || shape !== Shape.Explicit)) leave();
    return;
  }
  if (shape === Shape.List || shape === Shape.Map) {
    writeItems(writer, plan, value, isTyped);
    return;
  }
  if (shape === Shape.Oneof) {
    const oneof = value as Members;
    if (oneof["case"] !== plan.field.localName) return;
    value = oneof["value"];
    // The prototype of a message has the defaults of fields that are not set.
  } else if (shape === Shape.Implicit ? isZero(plan, value) : isTyped && !Object.hasOwn(message, property)) return;
  put(writer, plan.key);
  writeValue(writer, plan, value, isTyped);
}

function isZero({ kind, field }: FieldPlan, value: unknown): boolean {
  if (kind === Kind.Text) return value === "";
  if (kind === Kind.Float) return Object.is(value, 0);
  if (kind === Kind.Bool) return value === false;
  if (kind === Kind.Bytes) return value instanceof Uint8Array && value.byteLength === 0;
  return kind === Kind.Enum ? value === field.enum?.values[0]?.number : Number(value) === 0;
}

/** Writes a list or map that is not empty. */
function writeItems(writer: MessageWriter, plan: FieldPlan, value: unknown, isTyped: boolean): void {
  const isList = plan.shape === Shape.List;
  if (typeof value !== "object" || Array.isArray(value) !== isList) leave();
  const items: readonly unknown[] = isList ? (value as unknown[]) : Object.keys(value as Members);
  if (items.length === 0) return;
  put(writer, plan.key);
  const start = writer.pos - writer.start;
  for (let i = 0; i < items.length; i++) {
    let item = items[i];
    reserve(writer, 1);
    writer.bytes[writer.pos++] = COMMA;
    if (!isList) {
      writeText(writer, item as string);
      reserve(writer, 1);
      writer.bytes[writer.pos++] = COLON;
      item = (value as Members)[item as string];
    }
    writeValue(writer, plan, item, isTyped);
  }
  close(writer, start, isList ? OPEN_ARRAY : OPEN_OBJECT, isList ? CLOSE_ARRAY : CLOSE_OBJECT);
}

/** Ends an object or array, each of whose members begins with a comma: the first one is replaced. */
function close(writer: MessageWriter, start: number, first: number, last: number): void {
  reserve(writer, 2);
  const from = writer.start + start;
  if (writer.pos === from) writer.pos++;
  writer.bytes[from] = first;
  writer.bytes[writer.pos++] = last;
}

function writeValue(writer: MessageWriter, { field, kind, child }: FieldPlan, value: unknown, isTyped: boolean): void {
  if (kind === Kind.Message) writeMessage(writer, child as MessagePlan, value, isTyped);
  else if (typeof value === "string") {
    if (kind !== Kind.Text && kind !== Kind.Long) leave();
    writeText(writer, value);
  } else if (typeof value === "boolean") {
    if (kind !== Kind.Bool) leave();
    writePlain(writer, String(value));
  } else if (typeof value === "bigint" || kind === Kind.Long) {
    if (kind !== Kind.Long || (typeof value !== "bigint" && !Number.isInteger(value))) leave();
    writeText(writer, String(value));
  } else if (kind === Kind.Bytes) {
    if (!(value instanceof Uint8Array)) leave();
    writeEncoded(writer, encodeUtf8(`"${toBase64(value)}"`));
  } else {
    if (typeof value !== "number" || kind === Kind.Text || kind === Kind.Bool) leave();
    const constant = kind === Kind.Enum ? field.enum?.value[value] : undefined;
    if (constant !== undefined) writeText(writer, jsonNameOf(constant));
    else if ((value | 0) === value && value >= 0) writeDigits(writer, value);
    else if (Number.isFinite(value)) writePlain(writer, String(value));
    else if (kind === Kind.Float) writeText(writer, String(value));
    else leave();
  }
}

/** The functions of `Buffer` are far faster. */
function toBase64(value: Uint8Array): string {
  const { buffer, byteOffset, byteLength } = value;
  return globalThis.Buffer?.from(buffer, byteOffset, byteLength).toString("base64") ?? base64Encode(value);
}

/** Texts up to this length are written byte by byte, which is faster than a call of the platform. */
const MAX_SHORT = 128;

function put(writer: MessageWriter, text: Uint8Array): void {
  const { length } = text;
  reserve(writer, length);
  const { bytes, pos } = writer;
  for (let i = 0; i < length; i++) bytes[pos + i] = text[i] as number;
  writer.pos += length;
}

/** Writes short ASCII text as it is. */
function writePlain(writer: MessageWriter, text: string): void {
  const { length } = text;
  reserve(writer, length);
  const { bytes, pos } = writer;
  for (let i = 0; i < length; i++) bytes[pos + i] = text.charCodeAt(i);
  writer.pos += length;
}

/** Writes a natural number below 2^31, without the text of it. */
function writeDigits(writer: MessageWriter, value: number): void {
  reserve(writer, 10);
  const { bytes } = writer;
  let at = writer.pos + 1;
  for (let rest = value; rest >= 10; rest = (rest / 10) | 0) at++;
  writer.pos = at;
  let rest = value;
  do {
    const tenth = (rest / 10) | 0;
    bytes[--at] = 0x30 + rest - 10 * tenth;
    rest = tenth;
  } while (rest > 0);
}

/** Writes text in quotes. The engine encodes that with characters to escape or with surrogates. */
function writeText(writer: MessageWriter, text: string): void {
  if (text.length > MAX_SHORT || !putShort(writer, text)) writeEncoded(writer, encodeUtf8(JSON.stringify(text)));
}

function putShort(writer: MessageWriter, text: string): boolean {
  reserve(writer, 3 * text.length + 2);
  const { bytes } = writer;
  let at = writer.pos;
  bytes[at++] = QUOTE;
  for (let i = 0; i < text.length; i++) {
    let code = text.charCodeAt(i);
    if (code > 0x7f) {
      if ((code & 0xf800) === 0xd800) return false;
      if (code < 0x800) bytes[at++] = 0xc0 | (code >> 6);
      else {
        bytes[at++] = 0xe0 | (code >> 12);
        bytes[at++] = 0x80 | ((code >> 6) & 0x3f);
      }
      code = 0x80 | (code & 0x3f);
    } else if (code < 0x20 || code === QUOTE || code === BACKSLASH) return false;
    bytes[at++] = code;
  }
  bytes[at++] = QUOTE;
  writer.pos = at;
  return true;
}
