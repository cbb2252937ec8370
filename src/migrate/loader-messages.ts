/** Messages of proto-loader, whose fields are read and written as those of protobuf-es. */
import { ts } from "ts-morph";
import { bareNameOf, generatedBy, schemaOf, useGenerated } from "./generated.ts";
import { type LoadedField, loadedField } from "./loader-fields.ts";
import { isLoaded } from "./loader-names.ts";
import type { Migration, Rule } from "./migration.ts";
import { localName } from "./proto-files.ts";
import { isNothing } from "./tree.ts";

const PROTOBUF = "@bufbuild/protobuf";

/** The members of an enum, an object or an enum of TypeScript. */
function membersOf(of: ts.Declaration): string[] {
  const own = (of as ts.EnumDeclaration).name.text;
  const found = of.getSourceFile().statements.flatMap((one) => {
    if (ts.isEnumDeclaration(one) && one.name.text === own) return one.members.map((member) => member.name.getText());
    const [variable] = ts.isVariableStatement(one) ? one.declarationList.declarations : [];
    if (variable?.name.getText() !== own) return [];
    const value = variable.initializer;
    const literal = value && ts.isAsExpression(value) ? value.expression : value;
    return literal && ts.isObjectLiteralExpression(literal)
      ? literal.properties.map((member) => member.name?.getText() ?? "")
      : [];
  });
  return found;
}

/** The member of an enum in protobuf-es. */
function memberOf(name: string, of: ts.Declaration, at: ts.Node, migration: Migration): string {
  const generated = generatedBy(of);
  if (!generated) return JSON.stringify(name);
  const bare = bareNameOf(name, generated.name, membersOf(of));
  return `${useGenerated(generated.name, "pb", generated, at, migration)}.${bare}`;
}

/** A value of protobuf-es as one of proto-loader. */
function read(text: string, field: LoadedField, node: ts.Node, migration: Migration): string {
  const each = (by: string): string =>
    field.isList ? `${text}.map((one) => ${by.replace("$", "one")})` : by.replace("$", () => text);
  const isString = /\bstring\b/.test(field.output);
  if (field.form === "long") return each(isString ? "String($)" : "Number($)");
  if (field.form === "bytes") return each("Buffer.from($)");
  const generated = field.of && generatedBy(field.of);
  if (field.form === "enum" && generated && isNamed(field)) {
    const schema = schemaOf(generated, node, migration);
    return each(`(${migration.imports.use(PROTOBUF, "enumToJson", node)}(${schema}, $) as string)`);
  }
  return text;
}

/** Reports whether an enum is its names, by the option `enums`. */
function isNamed({ output, of }: LoadedField): boolean {
  if (/\bkeyof typeof\b/.test(output)) return true;
  return of !== undefined && enumIsNamed(of);
}

/** Reports whether the values of an enum that proto-loader returns are names. */
function enumIsNamed(of: ts.Declaration): boolean {
  const text = of.getSourceFile().text;
  const own = (of as ts.EnumDeclaration).name.text.replace(/__Output$/, "");
  const [, members = ""] = text.split(`const ${own} = {`);
  return text.includes(`type ${own}__Output = keyof typeof`) || /^\s*\w+: ['"]/.test(members);
}

function reads(field: LoadedField): boolean {
  return ["long", "bytes"].includes(field.form) || (field.form === "enum" && isNamed(field));
}

/** A value that proto-loader takes as one of protobuf-es. */
function write(value: ts.Expression, field: LoadedField, migration: Migration): string {
  if (isNothing(value)) return "undefined";
  const type = migration.checker.getTypeAtLocation(value);
  const bare = type.getNonNullableType();
  const has = (flags: ts.TypeFlags): boolean =>
    (bare.isUnion() ? bare.types : [bare]).every((one) => (one.flags & flags) !== 0);
  const literal = ts.isPropertyAccessExpression(value) ? value.name : value;
  if (field.form === "enum" && field.of && !field.isList) {
    const name = ts.isStringLiteral(literal) || ts.isIdentifier(literal) ? literal.text : "";
    const isMember = ts.isStringLiteral(value) || (literal !== value && isLoaded(migration.declared(literal)));
    if (isMember && membersOf(field.of).includes(name)) return memberOf(name, field.of, value.parent, migration);
  }
  const from = ts.isPropertyAccessExpression(value) ? loadedField(value.name, migration) : undefined;
  const isSame = from?.form === field.form && !from.oneof && !from.isOmitted && from.form !== "double";
  if (isSame && ts.isPropertyAccessExpression(value))
    return `${migration.print(value.expression)}${value.questionDotToken ? "?." : "."}${from.name}`;
  const text = migration.print(value);
  const guarded = (by: string): string => (type === bare ? by : `(${text} == null ? undefined : ${by})`);
  if (field.form === "long" && field.isList) return `${text}.map((one) => BigInt(one))`;
  if (field.form === "long") {
    if (ts.isNumericLiteral(value) || has(ts.TypeFlags.StringLike)) return guarded(`BigInt(${text})`);
    if (has(ts.TypeFlags.BigIntLike)) return text;
    return guarded(has(ts.TypeFlags.NumberLike) ? `BigInt(Math.trunc(${text}))` : `BigInt(String(${text}))`);
  }
  if (field.form === "double" && !field.isList && has(ts.TypeFlags.StringLike)) return guarded(`Number(${text})`);
  if (field.form === "bytes" && !field.isList && has(ts.TypeFlags.StringLike))
    return guarded(`Buffer.from(${text}, "base64")`);
  const generated = field.of && generatedBy(field.of);
  if (field.form === "enum" && generated && !has(ts.TypeFlags.NumberLike)) {
    const from = `${migration.imports.use(PROTOBUF, "enumFromJson", value.parent)}(${schemaOf(generated, value.parent, migration)}, `;
    return field.isList ? `${text}.map((one) => ${from}one))` : guarded(`${from}${text})`);
  }
  const isNullable = type.isUnion() && type.types.some((one) => one.flags & ts.TypeFlags.Null);
  return isNullable ? `(${text} ?? undefined)` : text;
}

/** `{ created_at: time }`, and `order.created_at = time`. */
const written: Rule = (node, migration) => {
  if (ts.isPropertyAssignment(node) || ts.isShorthandPropertyAssignment(node)) {
    const field = loadedField(node.name, migration);
    if (field === undefined) return undefined;
    if (field.form === "case") return "";
    const value = ts.isPropertyAssignment(node) ? node.initializer : node.name;
    const [name, text] = assigned(field, value, migration);
    return ts.isShorthandPropertyAssignment(node) && name === text ? name : `${name}: ${text}`;
  }
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.EqualsToken) return undefined;
  const field = ts.isPropertyAccessExpression(node.left) ? loadedField(node.left.name, migration) : undefined;
  if (!field || !ts.isPropertyAccessExpression(node.left)) return undefined;
  return `${migration.print(node.left.expression)}.${assigned(field, node.right, migration).join(" = ")}`;
};

function assigned(field: LoadedField, value: ts.Expression, migration: Migration): [name: string, value: string] {
  const text = write(value, field, migration);
  if (field.oneof === undefined) return [field.name, text];
  return [field.oneof, text === "undefined" ? "{ case: undefined }" : `{ case: "${field.name}", value: ${text} }`];
}

/** `order.created_at`. */
const accessed: Rule = (node, migration) => {
  if (!ts.isPropertyAccessExpression(node)) return undefined;
  const field = loadedField(node.name, migration);
  if (field === undefined) return enumMember(node, migration);
  const of = migration.print(node.expression);
  const mark = node.questionDotToken ? "?." : ".";
  if (field.form === "case") return caseOf(`${of}${mark}${field.name}`, field, node);
  if (field.oneof !== undefined)
    return once(
      of,
      (own) =>
        `${own}${mark}${field.oneof}${node.questionDotToken ? "?" : ""}.case === "${field.name}" ? ${read(`${own}.${field.oneof}.value`, field, node, migration)} : undefined`,
    );
  const { parent } = node;
  const operator = ts.isBinaryExpression(parent) ? parent.operatorToken.getText() : "";
  const other = ts.isBinaryExpression(parent) && (parent.left === node ? parent.right : parent.left);
  const isTested = operator === "??" || (other && isNothing(other) && ["===", "!==", "==", "!="].includes(operator));
  const isOmitted = field.isOmitted && (isTested || (reads(field) && !field.isList));
  const isUnset = reads(field) && (field.isOptional || node.questionDotToken !== undefined);
  if (!isOmitted && !isUnset) return read(`${of}${mark}${field.name}`, field, node, migration);
  return once(`${of}${mark}${field.name}`, (own) => {
    const value = read(own, field, node, migration);
    if (!isOmitted) return `${own} === undefined ? undefined : ${value}`;
    return `${own}${field.isList ? ".length > 0" : ""} ? ${value} : undefined`;
  });
};

/** The name of the field that is set in a oneof, which protobuf-es has in camelCase. */
function caseOf(oneof: string, { cases }: LoadedField, node: ts.Node): string {
  if (literalBeside(node) !== undefined || cases.every((one) => localName(one) === one)) return `${oneof}.case`;
  const names = cases.map((one) => `${localName(one)}: "${one}"`).join(", ");
  return once(`${oneof}.case`, (own) => `${own} && ({ ${names} } as const)[${own}]`);
}

/** The text that an expression is compared with. */
function literalBeside({ parent }: ts.Node): ts.StringLiteral | undefined {
  if (!ts.isBinaryExpression(parent) || !["===", "!=="].includes(parent.operatorToken.getText())) return undefined;
  return ts.isStringLiteral(parent.right) ? parent.right : undefined;
}

/** `order.item === null`: messages that are not set are undefined. */
const unset: Rule = (node, migration) => {
  if (node.kind !== ts.SyntaxKind.NullKeyword || !ts.isBinaryExpression(node.parent)) return undefined;
  const { left, right } = node.parent;
  const other = left === node ? right : left;
  const field = ts.isPropertyAccessExpression(other) ? loadedField(other.name, migration) : undefined;
  return field?.form === "message" ? "undefined" : undefined;
};

const caseName: Rule = (node, migration) => {
  if (!ts.isStringLiteral(node) || literalBeside(node) !== node) return undefined;
  const { left } = node.parent as ts.BinaryExpression;
  const field = ts.isPropertyAccessExpression(left) ? loadedField(left.name, migration) : undefined;
  return field?.form === "case" ? JSON.stringify(localName(node.text)) : undefined;
};

/** A choice by a value, which is evaluated once. */
function once(of: string, choice: (own: string) => string): string {
  return /[([]/.test(of) ? `((one) => ${choice("one")})(${of})` : `(${choice(of)})`;
}

/** `Status.STATUS_OPEN` of the object that an enum is. */
function enumMember(node: ts.PropertyAccessExpression, migration: Migration): string | undefined {
  const member = migration.declared(node.name);
  if (!member || !isLoaded(member) || !(ts.isPropertyAssignment(member) || ts.isEnumMember(member))) return undefined;
  let of: ts.Node = member;
  while (!ts.isVariableDeclaration(of) && !ts.isEnumDeclaration(of)) of = of.parent;
  if (enumIsNamed(of as ts.Declaration)) return JSON.stringify(node.name.text);
  const { name } = of as ts.EnumDeclaration;
  const generated = generatedBy(of as ts.Declaration);
  return `${migration.print(node.expression)}.${bareNameOf(node.name.text, generated?.name ?? name.text, membersOf(of as ts.Declaration))}`;
}

/** `const { created_at, total } = order`. */
const destructured: Rule = (node, migration) => {
  if (ts.isBindingElement(node) && !node.dotDotDotToken) {
    const name = node.propertyName ?? node.name;
    const field = loadedField(name, migration);
    if (!field || field.name === name.getText() || isPath(node.parent.parent)) return undefined;
    return `${field.name}: ${migration.print(node.name)}${node.initializer ? ` = ${migration.print(node.initializer)}` : ""}`;
  }
  if (!ts.isVariableDeclaration(node) || !node.initializer || !isPath(node)) return undefined;
  const elements = (node.name as ts.ObjectBindingPattern).elements.map((one) => one.propertyName ?? one.name);
  const fields = elements.map((one) => loadedField(one, migration));
  if (!fields.some((one) => one && isConverted(one))) return undefined;
  const of = migration.print(node.initializer);
  const given = fields.map((field, i) => {
    const name = (elements[i] as ts.Identifier).text;
    if (!field) return `${name}: ${of}.${name}`;
    if (field.form === "case") return `${name}: ${caseOf(`${of}.${field.name}`, field, node)}`;
    const path = `${of}.${field.oneof ? `${field.oneof}.value` : field.name}`;
    const value = read(path, field, node, migration);
    if (field.oneof) return `${name}: ${of}.${field.oneof}.case === "${field.name}" ? ${value} : undefined`;
    return `${name}: ${field.isOmitted && reads(field) && !field.isList ? `${path} ? ${value} : undefined` : value}`;
  });
  return `${node.name.getText()} = { ${given.join(", ")} }`;
};

/** Reports whether a pattern, of a parameter for example, cannot name a field that has another form. */
export function isOtherPattern({ parent }: ts.BindingElement, field: LoadedField): boolean {
  return isConverted(field) && !isPath(parent.parent);
}

function isConverted(field: LoadedField): boolean {
  return reads(field) || field.oneof !== undefined || field.form === "case";
}

/** Reports whether a pattern has its fields of a name, without a rest. */
function isPath(node: ts.Node): boolean {
  if (!ts.isVariableDeclaration(node) || !ts.isObjectBindingPattern(node.name)) return false;
  let of: ts.Node | undefined = node.initializer;
  while (of && ts.isPropertyAccessExpression(of)) of = of.expression;
  return of !== undefined && ts.isIdentifier(of) && !node.name.elements.some((one) => one.dotDotDotToken);
}

export const loaderFieldRules: readonly Rule[] = [written, accessed, unset, caseName, destructured];
