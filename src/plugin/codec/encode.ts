/** Encoding in generated codecs: the statements that write a message, in the order of field numbers, as in protobuf-es. */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence as Presence } from "@bufbuild/protobuf/wkt";
import { literal } from "../../print/literal.ts";
import {
  hasPrototype,
  isImplicit,
  isMethodOfObjects,
  type MessageField,
  propertyOf,
  representationOf,
} from "./message.ts";
import { type CodecNames, indent } from "./names.ts";
import {
  END_GROUP,
  isLong,
  isNotZero,
  keyIsNumber,
  LENGTH_DELIMITED,
  START_GROUP,
  tagOf,
  wireTypeOf,
  writeScalar,
} from "./scalar.ts";

type ListField = DescField & { fieldKind: "list" };
type MapField = DescField & { fieldKind: "map" };
type SingularField = Exclude<DescField, ListField | MapField>;

export function encodeStatements(message: DescMessage, names: CodecNames): string[] {
  const fields = message.fields.toSorted((a, b) => a.number - b.number);
  const check = fields.length === 0 ? [] : [`${names.runtime("checkType")}(message, ${literal(message.typeName)});`];
  return [
    ...check,
    ...fields.flatMap((field) => encodeField(field, names)),
    `if (message.$unknown !== undefined) ${names.runtime("writeUnknown")}(writer, message.$unknown);`,
  ];
}

function encodeField(field: DescField, names: CodecNames): string[] {
  switch (field.fieldKind) {
    case "list":
      return encodeList(field, names);
    case "map":
      return encodeMap(field, names);
    default:
      return encodeSingular(field, names);
  }
}

function encodeSingular(field: SingularField, names: CodecNames): string[] {
  const { oneof, localName } = field;
  const holder = propertyOf(field);
  const value = oneof === undefined ? holder : `${holder}.value`;
  const condition = oneof === undefined ? isSet(field, value) : `${holder}.case === ${literal(localName)}`;
  const statements = conditional(condition, encodeValue(field, value, names));
  if (field.presence !== Presence.LEGACY_REQUIRED) return statements;
  const otherwise = `else ${names.runtime("requiredField")}(${literal(`${field.parent.typeName}.${field.name}`)});`;
  return statements.length === 1 ? [...statements, otherwise] : [...statements.slice(0, -1), `} ${otherwise}`];
}

/** Puts statements under a condition, on one line if there is only one. */
function conditional(condition: string, statements: readonly string[]): string[] {
  const [statement = ""] = statements;
  return statements.length === 1
    ? [`if (${condition}) ${statement}`]
    : [`if (${condition}) {`, ...indent(statements), "}"];
}

/** Returns the condition under which a field outside of oneofs is written. */
function isSet(field: SingularField, value: string): string {
  if (!isImplicit(field)) {
    // A default on the prototype is not a value of the message itself.
    const isInherited = isMethodOfObjects(field) || (hasPrototype(field.parent) && field.fieldKind !== "message");
    return isInherited
      ? `Object.hasOwn(message, ${literal(field.localName)}) && ${value} !== undefined`
      : `${value} !== undefined`;
  }
  if (field.fieldKind === "enum") return `${value} !== ${field.enum.values[0]?.number ?? 0}`;
  if (field.fieldKind === "scalar") return isNotZero(field.scalar, field.longAsString, value);
  throw new Error(`${field} is a message without presence`);
}

/** Returns the statements that write the tag and the value. */
function encodeValue(field: SingularField, value: string, names: CodecNames): string[] {
  if (field.fieldKind === "message") return encodeMessage(field, value, names);
  const type = field.fieldKind === "enum" ? ScalarType.INT32 : field.scalar;
  return [writeScalar(type, tagOf(field.number, wireTypeOf(type)), value, names)];
}

function encodeMessage(
  field: MessageField,
  value: string,
  names: CodecNames,
  { number, start } = { number: field.number, start: "start" },
): string[] {
  const call = `${names.encode(field.message)}(writer, ${toMessage(field, value, names)});`;
  if (isDelimited(field)) {
    const tag = (type: number): string => `${names.runtime("writeTag")}(writer, ${tagOf(number, type)});`;
    return [tag(START_GROUP), call, tag(END_GROUP)];
  }
  return [begin(start, tagOf(number, LENGTH_DELIMITED), names), call, end(start, names)];
}

/** Returns the statement that begins a length-prefixed field. */
const begin = (start: string, tag: number, names: CodecNames): string =>
  `const ${start} = ${names.runtime("beginField")}(writer, ${tag});`;

const end = (start: string, names: CodecNames): string => `${names.runtime("endField")}(writer, ${start});`;

const isDelimited = (field: MessageField): boolean => field.fieldKind !== "map" && field.delimitedEncoding === true;

function toMessage(field: MessageField, value: string, names: CodecNames): string {
  switch (representationOf(field)) {
    case "json":
      return `${names.runtime("structFromJson")}(${value})`;
    case "wrapped":
      return `{ $typeName: ${literal(field.message.typeName)}, value: ${value} }`;
    default:
      return value;
  }
}

function encodeList(field: ListField, names: CodecNames): string[] {
  const list = propertyOf(field);
  if (field.listKind === "message") {
    return [`for (const item of ${list}) {`, ...indent(encodeMessage(field, "item", names)), "}"];
  }
  const type = field.listKind === "enum" ? ScalarType.INT32 : field.scalar;
  if (!field.packed) {
    return [`for (const item of ${list}) ${writeScalar(type, tagOf(field.number, wireTypeOf(type)), "item", names)}`];
  }
  return [
    `if (${list}.length > 0) {`,
    `  ${begin("start", tagOf(field.number, LENGTH_DELIMITED), names)}`,
    `  for (const item of ${list}) ${writeScalar(type, 0, "item", names)}`,
    `  ${end("start", names)}`,
    "}",
  ];
}

/** Writes a map. Each entry is a message with the key in field 1 and the value in field 2. */
function encodeMap(field: MapField, names: CodecNames): string[] {
  const map = propertyOf(field);
  const isNumeric = keyIsNumber(field.mapKey);
  const head = isNumeric
    ? [`for (const [key, value] of Object.entries(${map})) {`]
    : [`for (const key of Object.keys(${map})) {`, `  const value = ${map}[key]${names.typed("!")};`];
  const type = field.mapKind === "message" ? undefined : field.mapKind === "enum" ? ScalarType.INT32 : field.scalar;
  const value =
    field.mapKind === "message" || type === undefined
      ? encodeMessage(field as MessageField, "value", names, { number: 2, start: "valueStart" })
      : [writeScalar(type, tagOf(2, wireTypeOf(type)), "value", names)];
  return [
    ...head,
    `  ${begin("start", tagOf(field.number, LENGTH_DELIMITED), names)}`,
    `  ${writeScalar(field.mapKey, tagOf(1, wireTypeOf(field.mapKey)), keyFromProperty(field.mapKey), names)}`,
    ...indent(value),
    `  ${end("start", names)}`,
    "}",
  ];
}

/** Returns the expression that converts a property name to the key of an entry. */
function keyFromProperty(type: ScalarType): string {
  if (type === ScalarType.STRING || isLong(type)) return "key";
  if (type === ScalarType.BOOL) return 'key !== "false" && key !== ""';
  return "Number.parseInt(key)";
}
