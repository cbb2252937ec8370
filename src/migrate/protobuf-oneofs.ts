/** Fields of oneofs of google-protobuf, which have accessors of their own, as `{ case: "text", value }` of protobuf-es. */
import { ts } from "ts-morph";
import { generatedBy, generatedOf } from "./generated.ts";
import type { Migration, Rule } from "./migration.ts";
import { protoField } from "./protobuf-names.ts";

const SUFFIX = "Case";

/** A field of a oneof. */
export interface OneofField {
  /** The name of the oneof, such as `content`. */
  readonly oneof: string;
  /** The name of the field; `undefined` for that of no field. */
  readonly field: string | undefined;
}

/** The field that a constant such as `Message.ContentCase.TEXT` names, in an enum that tells the fields of a oneof. */
function fieldOf({ name, parent }: ts.EnumMember): OneofField | undefined {
  const own = parent.name.text;
  const words = (text: string): string => text.replaceAll("_", "").toLowerCase();
  const of = own.slice(0, -SUFFIX.length);
  const names = parent.members.map((one) => one.name.getText());
  const isOneof = own.endsWith(SUFFIX) && names[0]?.endsWith("_NOT_SET") && words(names[0]) === `${words(of)}notset`;
  // An optional field is a oneof of itself.
  if (!isOneof || (names.length === 2 && words(names[1] ?? "") === words(of))) return undefined;
  const field = name.getText() === names[0] ? undefined : camelCase(name.getText());
  return { oneof: of.slice(0, 1).toLowerCase() + of.slice(1), field };
}

function camelCase(name: string): string {
  return name.toLowerCase().replaceAll(/_+(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns the name of the oneof that has a field of a message's class, or that of the accessor for its case. */
export function oneofOf(message: ts.Declaration, field: string, { checker }: Migration): string | undefined {
  const { name } = message as ts.ClassDeclaration;
  const namespace = name && checker.getSymbolAtLocation(name);
  for (const symbol of namespace ? checker.getExportsOfModule(namespace) : []) {
    const [declaration] = symbol.declarations ?? [];
    if (!declaration || !ts.isEnumDeclaration(declaration)) continue;
    const fields = declaration.members.map(fieldOf);
    const found = fields.find((one) => one?.field?.toLowerCase() === field.toLowerCase());
    if (found) return found.oneof;
    if (`${fields[0]?.oneof}${SUFFIX}` === field) return field;
  }
  return undefined;
}

/** The value of a field, or what google-protobuf returns for one that is not set. */
export function readOneof(
  object: string,
  oneof: string,
  field: string,
  other: string,
  convert: (value: string) => string,
): string {
  if (oneof === field) return `${object}.${oneof.slice(0, -SUFFIX.length)}.case`;
  return readOf(
    object,
    (own) => `${own}.${oneof}.case === "${field}" ? ${convert(`${own}.${oneof}.value`)} : ${other}`,
  );
}

/** The text that reads a member of an object, which is named more than once. It is absent with an object that ends with `?`. */
export function readOf(object: string, member: (own: string) => string): string {
  const isPath = !object.includes("(");
  const bare = object.replace(/\?$/, "");
  const own = isPath ? bare : "message";
  const value = object.endsWith("?") ? `${own} && (${member(own)})` : member(own);
  return isPath ? `(${value})` : `((message) => ${value})(${bare})`;
}

/** The result of a getter for a field that is not set. Without strict checks of null, a type does not tell that it may be absent. */
export function unset({ type: node }: ts.MethodDeclaration, { checker }: Migration): string {
  if (node?.getText().includes("Uint8Array")) return "new Uint8Array()";
  const type = node && checker.getTypeFromTypeNode(node).getNonNullableType();
  const flags = (type?.isUnion() ? type.types[0] : type)?.flags ?? 0;
  if (flags & ts.TypeFlags.StringLike) return '""';
  if (flags & ts.TypeFlags.BooleanLike) return "false";
  return flags & (ts.TypeFlags.NumberLike | ts.TypeFlags.EnumLike) ? "0" : "undefined";
}

/** The member of a message, or of its init shape, that sets a field. */
export function writtenOneof(oneof: string, field: string, value: string): readonly [name: string, value: string] {
  return [oneof, value === "undefined" ? "{ case: undefined }" : `{ case: "${field}", value: ${value} }`];
}

/** `Message.ContentCase.TEXT`, which is `"text"`. */
export const oneofCase: Rule = (node, migration) => {
  if (!ts.isPropertyAccessExpression(node)) return undefined;
  const of = generatedOf(node, migration);
  if (of?.by !== "google-protobuf" || !ts.isEnumMember(of.declaration)) return undefined;
  const found = fieldOf(of.declaration);
  if (found?.field === undefined) return found && "undefined";
  const message = generatedBy(of.declaration.parent)?.name.replace(/_[^_]*$/, "") ?? "";
  return JSON.stringify(protoField(of, message, found.field, migration)?.name ?? found.field);
};
