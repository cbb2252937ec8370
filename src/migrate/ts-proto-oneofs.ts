/** Fields of oneofs in code of ts-proto, optional fields of the message, as `{ case: "text", value }` of protobuf-es. */
import { ts } from "ts-morph";
import { generatedBy, isWellKnown, packageOf } from "./generated.ts";
import type { Migration, Rule } from "./migration.ts";
import { type ProtoField, plainName } from "./proto-files.ts";
import { isNothing } from "./tree.ts";
import { conversionOf, fieldOf } from "./ts-proto-fields.ts";

interface Member extends ProtoField {
  readonly oneof: string;
  readonly field: ts.PropertySignature;
  /** The code that converts its value, if it has another type. */
  readonly conversion: ReturnType<typeof conversionOf>;
}

/** Messages without a .proto file that are listed, by file. */
const listed = new WeakMap<Migration, Set<ts.Node>>();

/** The field of a oneof that a property of a literal, of an access or of a pattern names. */
export function oneofMember(name: ts.Node, migration: Migration): Member | undefined {
  const field = fieldOf(name, migration);
  const of = field && ts.isInterfaceDeclaration(field.parent) ? generatedBy(field.parent) : undefined;
  if (!field?.questionToken || !of || isWellKnown(of) || field.type?.getText().includes("$case")) return undefined;
  const message = migration.protos.message(packageOf(field), of.name);
  if (message === undefined) {
    const all = listed.get(migration) ?? new Set();
    listed.set(migration, all);
    if (!all.has(field.parent))
      migration.leave(name, `no .proto file has ${of.name}: a field of it that is in a oneof becomes { case, value }`);
    all.add(field.parent);
  }
  const found = message?.get(plainName(field.name.getText()));
  if (found?.oneof === undefined) return undefined;
  return { ...found, oneof: found.oneof, field, conversion: conversionOf(name, migration) };
}

function outer(node: ts.Node): ts.Node {
  return ts.isParenthesizedExpression(node.parent) ? outer(node.parent) : node;
}

function inner(node: ts.Expression): ts.Expression {
  return ts.isParenthesizedExpression(node) || ts.isNonNullExpression(node) ? inner(node.expression) : node;
}

/** Reports whether only the truth of an expression counts. */
function isCondition(node: ts.Node): boolean {
  const own = outer(node);
  const { parent } = own;
  if (ts.isBinaryExpression(parent))
    return ["&&", "||"].includes(parent.operatorToken.getText()) && isCondition(parent);
  if (ts.isPrefixUnaryExpression(parent)) return parent.operator === ts.SyntaxKind.ExclamationToken;
  if (ts.isIfStatement(parent) || ts.isWhileStatement(parent) || ts.isDoStatement(parent))
    return parent.expression === own;
  return (ts.isConditionalExpression(parent) || ts.isForStatement(parent)) && parent.condition === own;
}

/** Reports whether an expression may be `undefined`. Types of a project that is not strict do not tell. */
function isOptional(node: ts.Expression, { field }: Member, { checker }: Migration): boolean {
  const declared = checker.getTypeAtLocation(field);
  if (declared.getNonNullableType() === declared)
    return !(ts.isLiteralExpression(node) || ts.isObjectLiteralExpression(node) || ts.isNewExpression(node));
  const type = checker.getTypeAtLocation(node);
  return (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) !== 0 || type.getNonNullableType() !== type;
}

const PATH = /^[\w$.?!#]+(?:\[\d+\][\w$.?!#]*)*$/;

/** A oneof that is read: its path, or the message that it is of, which is evaluated once. */
interface Read {
  readonly member: Member;
  readonly path: string;
  readonly of?: string;
  /** The value of a field that is not set. */
  readonly unset?: string;
}

/** Returns what a name or an access reads, if it is a field of a oneof. */
function readOf(node: ts.Node, migration: Migration): Read | undefined {
  if (ts.isIdentifier(node)) return boundOf(node, migration);
  if (!ts.isPropertyAccessExpression(node)) return undefined;
  const member = oneofMember(node.name, migration);
  if (!member) return undefined;
  const of = migration.print(node.expression);
  const mark = node.questionDotToken ? "?" : "";
  if (PATH.test(of)) return { member, path: `${of}${mark}.${member.oneof}` };
  const type = migration.checker.getTypeAtLocation(node.expression);
  const own = type.getNonNullableType() === type ? "message" : "message?";
  return { member, path: `${own}.${member.oneof}`, of };
}

function once(of: string | undefined, text: string): string {
  return of === undefined ? `(${text})` : `((message) => ${text})(${of})`;
}

function setValue({ member: { conversion }, path }: Read): string {
  return conversion ? conversion.read(`${path}.value`) : `${path}.value`;
}

/** `message.text`, which is `undefined` if another field is set. */
function read(node: ts.Expression, found: Read, migration: Migration): string {
  const { member, path, of, unset = "undefined" } = found;
  const isCase = `${path}.case === ${JSON.stringify(member.name)}`;
  const hasDefault = unset !== "undefined";
  // A condition before has shown that the field is set.
  if (!isOptional(node, member, migration) && of === undefined && !hasDefault) return setValue(found);
  if (!isCondition(node) || hasDefault) return once(of, `${isCase} ? ${setValue(found)} : ${unset}`);
  return once(of, isObject(member, migration) ? isCase : `${isCase} && ${setValue(found)}`);
}

/** Reports whether the values of a field are true, such as those of a message. */
function isObject({ field }: Member, { checker }: Migration): boolean {
  return (checker.getTypeAtLocation(field).getNonNullableType().flags & ts.TypeFlags.Object) !== 0;
}

/** Reads: `message.text`, `message.text !== undefined` and `message.text && other`. */
const reads: Rule = (node, migration) => {
  if (ts.isShorthandPropertyAssignment(node)) {
    const found = boundOf(node.name, migration);
    return found && `${node.name.text}: ${read(node.name, found, migration)}`;
  }
  if (ts.isBinaryExpression(node)) return compared(node, migration);
  if (!ts.isIdentifier(node) && !ts.isPropertyAccessExpression(node)) return undefined;
  const found = readOf(node, migration);
  return found && read(node, found, migration);
};

function compared(node: ts.BinaryExpression, migration: Migration): string | undefined {
  const operator = node.operatorToken.getText();
  const left = inner(node.left);
  if (operator === "in" && ts.isStringLiteral(left)) {
    const type = migration.checker.getTypeAtLocation(node.right);
    const [name] = type.getProperty(left.text)?.declarations ?? [];
    if (name && ts.isPropertySignature(name) && oneofMember(name.name, migration))
      migration.todo(node, `${left.text} is a field of a oneof: compare its case`);
    return undefined;
  }
  const isPresence = ["===", "!==", "==", "!="].includes(operator) && isNothing(node.right);
  if (!isPresence && (operator !== "&&" || isCondition(node))) return undefined;
  const found = readOf(left, migration);
  if (!found) return undefined;
  const { member, path, of, unset } = found;
  const name = JSON.stringify(member.name);
  if (unset !== undefined) return undefined;
  if (isPresence) return once(of, `${path}.case ${operator.startsWith("!") ? "===" : "!=="} ${name}`);
  if (of !== undefined || !isOptional(left, member, migration)) return undefined;
  const value = isObject(member, migration) ? "" : `${setValue(found)} && `;
  return `(${path}.case === ${name} ? ${value}${migration.print(node.right)} : undefined)`;
}

/** The value of a oneof with a field, or `rest` if the field is `undefined`. */
function written(value: ts.Expression, member: Member, rest: string, migration: Migration): string {
  const node = inner(value);
  if (isNothing(node)) return rest;
  const of = (text: string): string => {
    const given = member.conversion?.write?.(text) ?? text;
    return `{ case: ${JSON.stringify(member.name)}, value: ${given} }`;
  };
  const may = isOptional(node, member, migration);
  if (may && ts.isConditionalExpression(node)) {
    const [yes, no] = [node.whenTrue, node.whenFalse].map((one) => written(one, member, rest, migration));
    return `${migration.print(node.condition)} ? ${yes} : ${no}`;
  }
  const text = migration.print(node);
  if (!may) return of(text);
  if (PATH.test(text)) return `${text} !== undefined ? ${of(text)} : ${rest}`;
  return `((value) => value !== undefined ? ${of("value")} : ${rest})(${text})`;
}

/** The target of an assignment, of `delete` and of `++`. */
function targetOf(node: ts.Node): ts.Node | undefined {
  if (ts.isDeleteExpression(node)) return node.expression;
  if (ts.isPostfixUnaryExpression(node)) return inner(node.operand);
  if (ts.isPrefixUnaryExpression(node)) return /^(?:\+\+|--)/.test(node.getText()) ? inner(node.operand) : undefined;
  const kind = ts.isBinaryExpression(node) ? node.operatorToken.kind : ts.SyntaxKind.Unknown;
  const isAssignment = kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;
  return isAssignment ? inner((node as ts.BinaryExpression).left) : undefined;
}

/** `{ text: "a" }` and `message.text = "a"`. */
const writes: Rule = (node, migration) => {
  if (ts.isPropertyAssignment(node) || ts.isShorthandPropertyAssignment(node)) return given(node, migration);
  const target = targetOf(node);
  if (!target || !ts.isPropertyAccessExpression(target)) return undefined;
  const member = oneofMember(target.name, migration);
  if (!member) return undefined;
  const isPlain =
    ts.isBinaryExpression(node) &&
    node.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    ts.isExpressionStatement(node.parent);
  const of = migration.print(target.expression);
  if (!isPlain || !PATH.test(of)) {
    migration.leave(node, `${target.name.text} is a field of the oneof ${member.oneof}: set { case, value }`);
    return migration.verbatim(node);
  }
  const path = `${of}.${member.oneof}`;
  // The field alone becomes undefined: another one that is set stays.
  const rest = `${path}.case === ${JSON.stringify(member.name)} ? { case: undefined } : ${path}`;
  return `${path} = ${written(node.right, member, rest, migration)}`;
};

type Given = ts.PropertyAssignment | ts.ShorthandPropertyAssignment;

/** The fields of a oneof in a literal, the last one of which is sent. */
function given(node: Given, migration: Migration): string | undefined {
  const member = oneofMember(node.name, migration);
  if (!member) return undefined;
  const all = node.parent.properties
    .filter((one) => ts.isPropertyAssignment(one) || ts.isShorthandPropertyAssignment(one))
    .map((one) => ({ one, own: oneofMember(one.name, migration) }))
    .filter(({ own }) => own?.oneof === member.oneof);
  if (all[0]?.one !== node) return "";
  all.sort((a, b) => (a.own?.index ?? 0) - (b.own?.index ?? 0));
  const text = all.reduce((rest, { one, own }) => {
    const value = ts.isPropertyAssignment(one) ? one.initializer : one.name;
    return written(value, own as Member, rest, migration);
  }, "{ case: undefined }");
  if (text.includes("{ case: undefined }") && node.parent.properties.some(ts.isSpreadAssignment))
    migration.todo(node, `${member.oneof} replaces that of the message that is spread`);
  return `${member.oneof}: ${text}`;
}

/** The names of oneofs in place of their fields, by patterns. */
const names = new WeakMap<ts.Node, Map<string, string>>();

function boundName(pattern: ts.ObjectBindingPattern, oneof: string, migration: Migration): string {
  const all = names.get(pattern) ?? new Map<string, string>();
  names.set(pattern, all);
  const name = all.get(oneof) ?? migration.imports.unique(oneof);
  all.set(oneof, name);
  return name;
}

/** The field of a oneof that a pattern gives a name, if the name can stand for the oneof. */
function boundMember(element: ts.BindingElement, migration: Migration): Member | undefined {
  const { parent, name, initializer } = element;
  const isPlain = ts.isIdentifier(name) && (!initializer || ts.isLiteralExpression(initializer));
  const isAlone = !parent.elements.some((one) => ts.isBindingElement(one) && one.dotDotDotToken);
  return isPlain && isAlone && !element.dotDotDotToken && ts.isObjectBindingPattern(parent)
    ? oneofMember(element.propertyName ?? name, migration)
    : undefined;
}

/** The value of a name that a pattern gives. */
function boundOf(node: ts.Identifier, migration: Migration): Read | undefined {
  const element = migration.declared(node);
  if (!element || !ts.isBindingElement(element) || element.name === node || node.parent === element) return undefined;
  const member = boundMember(element, migration);
  if (!member) return undefined;
  const pattern = element.parent as ts.ObjectBindingPattern;
  const { initializer } = pattern.parent;
  const isMissing = initializer && ts.isBinaryExpression(initializer);
  const unset = element.initializer?.getText();
  return {
    member,
    path: `${boundName(pattern, member.oneof, migration)}${isMissing ? "?" : ""}`,
    ...(unset && { unset }),
  };
}

/** `const { text } = message`. */
const pattern: Rule = (node, migration) => {
  if (!ts.isObjectBindingPattern(node)) return undefined;
  const members = node.elements.map((one) => boundMember(one, migration));
  for (const one of node.elements) {
    if (one.dotDotDotToken || boundMember(one, migration)) continue;
    const member = oneofMember(one.propertyName ?? one.name, migration);
    if (member) migration.leave(one, `a field of the oneof ${member.oneof} is its value: read { case, value }`);
  }
  if (members.every((one) => one === undefined)) return undefined;
  const texts = node.elements.map((one, i) => {
    const member = members[i];
    if (!member) return migration.print(one);
    const name = boundName(node, member.oneof, migration);
    return name === member.oneof ? name : `${member.oneof}: ${name}`;
  });
  return `{ ${[...new Set(texts)].join(", ")} }`;
};

export const tsProtoOneofs: readonly Rule[] = [pattern, writes, reads];
