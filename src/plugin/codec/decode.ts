/** Decoding in generated codecs: the cases of the function that reads a message, one for each field number. */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { literal } from "../../print/literal.ts";
import { isMethodOfObjects, type MessageField, propertyOf, representationOf } from "./message.ts";
import { type CodecNames, indent } from "./names.ts";
import { keyIsNumber, LENGTH_DELIMITED, readScalar, wireTypeOf, zeroLiteral } from "./scalar.ts";

type ListField = DescField & { fieldKind: "list" };
type MapField = DescField & { fieldKind: "map" };
type EnumField = DescField & { fieldKind: "enum" };

export function decodeStatements(message: DescMessage, names: CodecNames): string[] {
  return [
    "let unknown = message.$unknown;",
    `const last = ${names.runtime("enterMessage")}(reader, ${literal(message.typeName)}, end);`,
    "while (reader.pos < last) {",
    `  const tag = ${names.read("Tag")};`,
    `  if (end < 0 && ${names.runtime("endsGroup")}(reader, tag, -end)) break;`,
    "  switch (tag >>> 3) {",
    ...indent(
      message.fields.flatMap((field) => decodeCase(field, names)),
      "    ",
    ),
    "    default:",
    `      unknown = ${names.runtime("readUnknown")}(reader, unknown, tag);`,
    "  }",
    "}",
    "if (unknown !== undefined) message.$unknown = unknown;",
    `${names.runtime("leaveMessage")}(reader, end);`,
    "return message;",
  ];
}

function decodeCase(field: DescField, names: CodecNames): string[] {
  const statements = decodeField(field, names);
  const isBlock = statements.some((line) => line.startsWith("const ") || line.startsWith("let "));
  return isBlock
    ? [`case ${field.number}: {`, ...indent(statements), "  break;", "}"]
    : [`case ${field.number}:`, ...indent(statements), "  break;"];
}

function decodeField(field: DescField, names: CodecNames): string[] {
  switch (field.fieldKind) {
    case "list":
      return decodeList(field, names);
    case "map":
      return decodeMap(field, names);
    case "message":
      return [`${assign(field, decodeMessage(field, names))};`];
    case "enum":
      return field.enum.open ? [`${assign(field, names.read("Enum"))};`] : decodeClosedEnum(field, names);
    case "scalar":
      return [`${assign(field, readScalar(field.scalar, field.utf8Validation, field.longAsString, names))};`];
  }
}

function assign(field: DescField, value: string): string {
  if (field.oneof === undefined) return `${propertyOf(field)} = ${value}`;
  return `${propertyOf(field)} = { case: ${literal(field.localName)}, value: ${value} }`;
}

/** Reads a value of a closed enum. Numbers that the enum does not have are kept as unknown fields. */
function decodeClosedEnum(field: EnumField, names: CodecNames): string[] {
  const numbers = [...new Set(field.enum.values.map(({ number }) => number))];
  return [
    `const value${names.typed(`: ${names.type(field.enum)}`)} = ${names.read("Enum")};`,
    "switch (value) {",
    ...numbers.map((number) => `  case ${number}:`),
    `    ${assign(field, "value")};`,
    "    break;",
    "  default:",
    `    message.$unknown = ${names.runtime("unknownEnum")}(message.$unknown, tag, value);`,
    "}",
  ];
}

/** Reads a message field, and merges it with an earlier message in the same field. */
function decodeMessage(field: MessageField & { fieldKind: "message" }, names: CodecNames): string {
  const { localName, oneof } = field;
  const present = propertyOf(field);
  const isOwn = isMethodOfObjects(field) ? `Object.hasOwn(message, ${literal(localName)})` : `${present} !== undefined`;
  const isPresent = oneof === undefined ? isOwn : `${present}.case === ${literal(localName)}`;
  const value = oneof === undefined ? present : `${present}.value`;
  const call = (before: string): string => `${names.decode(field.message)}(reader, ${endOf(field, names)}, ${before})`;
  switch (representationOf(field)) {
    case "json": {
      const before = `${isPresent} ? ${names.runtime("structFromJson")}(${value}) : undefined`;
      return `${names.runtime("structToJson")}(${call(before)})`;
    }
    case "wrapped": {
      const before = `{ $typeName: ${literal(field.message.typeName)}, value: ${value} }`;
      return `${call(`${isPresent} ? ${before} : undefined`)}.value`;
    }
    default:
      return call(oneof === undefined && !isMethodOfObjects(field) ? value : `${isPresent} ? ${value} : undefined`);
  }
}

/** The expression for the end of a message: the offset after its length, or the negative field number for a group. */
function endOf(field: MessageField, names: CodecNames): string {
  return field.fieldKind !== "map" && field.delimitedEncoding ? String(-field.number) : names.read("EndOffset");
}

function decodeList(field: ListField, names: CodecNames): string[] {
  const push = (value: string): string => `${propertyOf(field)}.push(${value});`;
  if (field.listKind === "message") {
    const item = `${names.decode(field.message)}(reader, ${endOf(field, names)})`;
    return [push(representationOf(field) === "json" ? `${names.runtime("structToJson")}(${item})` : item)];
  }
  const isEnum = field.listKind === "enum";
  const type = isEnum ? ScalarType.INT32 : field.scalar;
  const item = isEnum ? names.read("Enum") : readScalar(type, field.utf8Validation, field.longAsString, names);
  if (wireTypeOf(type) === LENGTH_DELIMITED) return [push(item)];
  return [
    `if ((tag & 7) === ${LENGTH_DELIMITED}) {`,
    `  for (const packed = ${names.read("EndOffset")}; reader.pos < packed; ) ${push(item)}`,
    "} else {",
    `  ${push(item)}`,
    "}",
  ];
}

/** Reads a map entry. A missing key or value has the zero value. */
function decodeMap(field: MapField, names: CodecNames): string[] {
  const { mapKey } = field;
  const map = propertyOf(field);
  const isText = mapKey === ScalarType.STRING;
  const isNumber = keyIsNumber(mapKey);
  const key = isText || isNumber ? "key" : "String(key)";
  const value = mapValue(field, names);
  const store = isText
    ? `${names.runtime("setEntry")}(${map}, key, ${value.stored});`
    : `${map}[${key}] = ${value.stored};`;
  return [
    `let key = ${zeroLiteral(mapKey, false, () => "")};`,
    `let value${value.type} = ${value.initial};`,
    `for (const entry = ${names.read("EndOffset")}; reader.pos < entry; ) {`,
    `  const part = ${names.read("Tag")};`,
    "  switch (part >>> 3) {",
    "    case 1:",
    `      key = ${isText && field.utf8Validation ? names.read("Key") : readScalar(mapKey, field.utf8Validation, false, names)};`,
    "      break;",
    "    case 2:",
    `      value = ${value.read};`,
    "      break;",
    "    default:",
    `      ${names.runtime("skipField")}(reader, part);`,
    "  }",
    "}",
    store,
  ];
}

interface MapValue {
  readonly type: string;
  readonly initial: string;
  readonly read: string;
  readonly stored: string;
}

function mapValue(field: MapField, names: CodecNames): MapValue {
  switch (field.mapKind) {
    case "scalar": {
      // Entries without bytes must not share one array.
      const initial = zeroLiteral(field.scalar, false, () => "new Uint8Array(0)");
      const type = field.scalar === ScalarType.BYTES ? names.typed(": Uint8Array") : "";
      return { type, initial, read: readScalar(field.scalar, field.utf8Validation, false, names), stored: "value" };
    }
    case "enum":
      return {
        type: names.typed(`: ${names.type(field.enum)}`),
        initial: String(field.enum.values[0]?.number ?? 0),
        read: names.read("Enum"),
        stored: "value",
      };
    case "message": {
      const decode = names.decode(field.message);
      const type = names.typed(`: ${names.type(field.message)} | undefined`);
      const value = `value ?? ${names.create(field.message)}()`;
      const stored = representationOf(field) === "json" ? `${names.runtime("structToJson")}(${value})` : value;
      return { type, initial: "undefined", read: `${decode}(reader, ${names.read("EndOffset")}, value)`, stored };
    }
  }
}
