/** Fields of ts-proto that protobuf-es has in another form: 64-bit integers, `Date`, `Buffer`, field masks, oneofs, and names. */
import { ts } from "ts-morph";
import { generatedBy, generatedOf } from "./generated.ts";
import type { Migration, Rule } from "./migration.ts";
import { localName } from "./proto-files.ts";
import { isNothing } from "./tree.ts";
import { argumentType, expectedType } from "./ts-proto-types.ts";

const INTEGERS = ["int64", "uint64", "sint64", "fixed64", "sfixed64"];

/** Returns the text of a value, converted. */
type Convert = (text: string) => string;

/** The conversions of a value which is read and one which is given. */
interface Conversion {
  readonly read: Convert;
  /** Absent: none is needed. */
  readonly write?: Convert;
}

/** The field that a property of a literal or of an access names. */
export function fieldOf(name: ts.Node, migration: Migration): ts.PropertySignature | undefined {
  const literal = name.parent.parent;
  const type = ts.isObjectLiteralExpression(literal)
    ? (argumentType(literal, migration) ?? expectedType(literal, migration))
    : undefined;
  const types = type?.isUnion() ? type.types : [type];
  const given = types.flatMap((one) => one?.getProperty(name.getText())?.declarations ?? [])[0];
  const field = ts.isObjectLiteralExpression(literal) ? given : migration.declared(name);
  return field && ts.isPropertySignature(field) && generatedBy(field)?.by === "ts-proto" ? field : undefined;
}

export function conversionOf(name: ts.Node, migration: Migration): Conversion | undefined {
  const field = fieldOf(name, migration);
  if (!field || !ts.isInterfaceDeclaration(field.parent)) return undefined;
  const type = migration.checker.getTypeAtLocation(field).getNonNullableType();
  const use = (one: string, module = "@bufbuild/protobuf"): string => migration.imports.use(module, one, name.parent);
  const wkt = (one: string): string => use(one, "@bufbuild/protobuf/wkt");
  if (type.symbol?.name === "Date")
    return {
      read: (text) => `${wkt("timestampDate")}(${text})`,
      write: (text) => `${wkt("timestampFromDate")}(${text})`,
    };
  if (type.symbol?.name === "Buffer") return { read: (text) => `Buffer.from(${text})` };
  const { text } = field.getSourceFile();
  const start = text.indexOf(`encode(message: ${field.parent.name.text},`);
  const encode = text.slice(start, text.indexOf("decode(", start));
  if (start < 0) return undefined;
  const own = `(message.${field.name.getText()})`;
  if (encode.includes(`FieldMask.wrap${own}`))
    return {
      read: (text) => `${text}.paths`,
      write: (text) => `${use("create")}(${wkt("FieldMaskSchema")}, { paths: ${text} })`,
    };
  const value = ["Value", "ListValue"].find((one) => encode.includes(`(${one}.wrap${own}`));
  if (value) {
    const read: Convert = (text) => `${use("toJson")}(${wkt(`${value}Schema`)}, ${text})`;
    return {
      // The type of a value, any, does not tell that it may be absent.
      read: value === "Value" ? (text) => `(${text} && ${read(text)})` : read,
      write: (text) =>
        `${use("fromJson")}(${wkt(`${value}Schema`)}, ${text}${migration.typed(` as ${use("JsonValue")}`)})`,
    };
  }
  if (!(type.flags & (ts.TypeFlags.NumberLike | ts.TypeFlags.StringLike))) return undefined;
  const isLong = INTEGERS.some((one) => encode.includes(`.${one}${own}`));
  const number = type.flags & ts.TypeFlags.StringLike ? "String" : "Number";
  return isLong ? { read: (text) => `${number}(${text})`, write: (text) => `BigInt(${text})` } : undefined;
}

function convert(by: Convert, text: string, node: ts.Expression, { checker }: Migration): string {
  const type = checker.getTypeAtLocation(node);
  if (type.flags & ts.TypeFlags.Undefined) return text;
  return type.getNonNullableType() === type ? by(text) : `(${text} === undefined ? undefined : ${by(text)})`;
}

/** Reports whether an expression is only compared, or tested for its presence. */
function isTested(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isBinaryExpression(parent)) {
    const operator = parent.operatorToken.getText();
    const other = parent.left === node ? parent.right : parent.left;
    return ["===", "!=="].includes(operator) ? isNothing(other) : operator === "&&" && parent.left === node;
  }
  if (ts.isConditionalExpression(parent)) return parent.condition === node;
  return ts.isIfStatement(parent) || (ts.isPrefixUnaryExpression(parent) && parent.getText().startsWith("!"));
}

/** The name that a pattern gives such a field, where it is read. */
function boundOf(node: ts.Node, migration: Migration): ts.Node | undefined {
  const element = ts.isIdentifier(node) ? migration.declared(node) : undefined;
  if (!element || !ts.isBindingElement(element) || element === node.parent || element.initializer) return undefined;
  return ts.isObjectBindingPattern(element.parent) && !element.dotDotDotToken
    ? (element.propertyName ?? element.name)
    : undefined;
}

/** The text of a value that such a field is given: one that another field has is not converted. */
function givenOf(by: Convert, value: ts.Expression, migration: Migration): string {
  const name = ts.isPropertyAccessExpression(value) ? value.name : boundOf(value, migration);
  const isField = name && conversionOf(name, migration);
  return isField ? migration.children(value) : convert(by, migration.print(value), value, migration);
}

/** `order.createdAt`, `order.createdAt = date` and `{ createdAt: date }`. */
export const tsProtoField: Rule = (node, migration) => {
  if (ts.isPropertyAssignment(node) || ts.isShorthandPropertyAssignment(node)) {
    const by = conversionOf(node.name, migration)?.write;
    const value = ts.isPropertyAssignment(node) ? node.initializer : node.name;
    if (by) return `${nameOf(node.name, migration)}: ${givenOf(by, value, migration)}`;
    const bound = ts.isShorthandPropertyAssignment(node) ? boundOf(node.name, migration) : undefined;
    const own = bound && conversionOf(bound, migration)?.read;
    return own && `${nameOf(node.name, migration)}: ${convert(own, node.name.getText(), value, migration)}`;
  }
  const target = ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken && node.left;
  if (target && ts.isPropertyAccessExpression(target)) {
    const by = conversionOf(target.name, migration)?.write;
    const { right } = node as ts.BinaryExpression;
    return by && `${migration.children(target)} = ${givenOf(by, right, migration)}`;
  }
  const bound = boundOf(node, migration);
  if (bound && !isTested(node)) {
    const by = conversionOf(bound, migration)?.read;
    return by && convert(by, migration.children(node), node as ts.Identifier, migration);
  }
  if (!ts.isPropertyAccessExpression(node) || isTested(node)) return undefined;
  const by = conversionOf(node.name, migration)?.read;
  return by && convert(by, migration.children(node), node, migration);
};

/** The name of a field, which the option `snakeToCamel=false` keeps as it is in the proto file. */
function nameOf(name: ts.Node, migration: Migration): string {
  const text = name.getText();
  return text.includes("_") && fieldOf(name, migration) ? localName(text) : text;
}

/** `order.order_id`, `{ order_id }` and `const { order_id } = order`. */
export const tsProtoFieldName: Rule = (node, migration) => {
  const name = ts.isShorthandPropertyAssignment(node) ? node.name : node;
  if (!ts.isIdentifier(name)) return undefined;
  const own = nameOf(name, migration);
  if (own === name.text) return undefined;
  const { parent } = node;
  if (ts.isShorthandPropertyAssignment(node)) return `${own}: ${migration.print(name)}`;
  if (ts.isPropertyAccessExpression(parent) || ts.isPropertyAssignment(parent))
    return parent.name === node ? own : undefined;
  if (!ts.isBindingElement(parent) || (parent.propertyName ?? parent.name) !== node) return undefined;
  return parent.propertyName ? own : `${own}: ${name.text}`;
};

/** A oneof, `{ $case: "text", text }`, which is `{ case: "text", value }`. */
export const tsProtoOneof: Rule = (node, migration) => {
  if (ts.isIdentifier(node) && node.text === "$case") return fieldOf(node, migration) ? "case" : undefined;
  const isGiven = ts.isPropertyAssignment(node) || ts.isShorthandPropertyAssignment(node);
  if (!isGiven && !ts.isPropertyAccessExpression(node)) return undefined;
  const field = fieldOf(node.name, migration);
  if (!field || node.name.getText() === "$case" || !isOfCase(field.parent)) return undefined;
  if (isGiven) return `value: ${migration.print(ts.isPropertyAssignment(node) ? node.initializer : node.name)}`;
  return `${migration.print(node.expression)}${node.questionDotToken ? "?" : ""}.value`;
};

function isOfCase(type: ts.Node): boolean {
  return ts.isTypeLiteralNode(type) && type.members[0]?.name?.getText() === "$case";
}

/** `keyof Order`, without the fields that only messages of protobuf-es have. */
export const tsProtoKeys: Rule = (node, migration) => {
  if (!ts.isTypeOperatorNode(node) || node.operator !== ts.SyntaxKind.KeyOfKeyword) return undefined;
  const of = ts.isTypeReferenceNode(node.type) ? generatedOf(node.type.typeName, migration) : undefined;
  if (of?.by !== "ts-proto" || !ts.isInterfaceDeclaration(of.declaration)) return undefined;
  return `Exclude<keyof ${migration.print(node.type)}, "$typeName" | "$unknown">`;
};
