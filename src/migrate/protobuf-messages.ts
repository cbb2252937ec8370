/** Messages of google-protobuf, classes with accessors, as those of protobuf-es. */
import { ts } from "ts-morph";
import { generatedBy, generatedOf, isWellKnown, schemaCall, schemaOf, useGenerated } from "./generated.ts";
import type { Migration, Rule } from "./migration.ts";
import { messageClass, messageClassPart, readMessage } from "./protobuf-classes.ts";
import { bigintOf, isInt64 } from "./protobuf-int64.ts";
import { isMap, protobufMap } from "./protobuf-maps.ts";
import { enumMember, protoField } from "./protobuf-names.ts";
import { oneofCase, oneofOf, readOf, readOneof, unset, writtenOneof } from "./protobuf-oneofs.ts";
import { classOf, protobufValue } from "./protobuf-values.ts";
import { wellKnown } from "./protobuf-well-known.ts";
import { isFunction } from "./tree.ts";

const PROTOBUF = "@bufbuild/protobuf";

/** The types of messages that the old code has as `any`. */
const types = new WeakMap<ts.Node, ts.Type>();

/** Remembers the type of the message that a listener is called with. */
export function typeMessage(listener: ts.Node, type: ts.Type | undefined): void {
  const [parameter] = isFunction(listener) ? listener.parameters : [];
  if (parameter && !parameter.type && type) types.set(parameter, type);
}

/** The type of a parameter that is such a message. */
export function messageType(parameter: ts.Node): ts.Type | undefined {
  return types.get(parameter);
}

/** The type of an expression that reads such a message. */
function typeOf(node: ts.Expression, migration: Migration): ts.Type | undefined {
  if (ts.isIdentifier(node)) {
    const declaration = migration.declared(node);
    return declaration && types.get(declaration);
  }
  const callee = ts.isCallExpression(node) ? node.expression : undefined;
  if (!callee || !ts.isPropertyAccessExpression(callee)) return undefined;
  const method = typeOf(callee.expression, migration)?.getProperty(callee.name.text);
  const [signature] = method ? migration.checker.getTypeOfSymbolAtLocation(method, node).getCallSignatures() : [];
  return signature?.getReturnType().getNonNullableType();
}

/** The member of a message that a method of google-protobuf reads or writes. */
function accessor(node: ts.Node, migration: Migration) {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
  const { expression: object, name: called } = node.expression;
  const untyped = typeOf(object, migration)?.getProperty(called.text)?.declarations?.[0];
  const method = migration.declared(called) ?? untyped;
  if (!method || !ts.isMethodDeclaration(method)) return undefined;
  const of = generatedBy(method.parent as ts.Declaration);
  if (of?.by !== "google-protobuf") return undefined;
  const [, verb = "", rest = ""] = /^(get|set|add|has|clear)([A-Z].*)$/.exec(node.expression.name.text) ?? [];
  const isList = rest.endsWith("List") && (verb === "clear" || method.getText().includes("Array<"));
  const isOfMap = rest.endsWith("Map") && (verb === "clear" || isMap(migration.checker.getTypeAtLocation(node)));
  const suffix = isList ? "List" : isOfMap ? "Map" : /_as(?:U8|B64)$/.exec(rest)?.[0];
  const name = suffix ? rest.slice(0, -suffix.length) : rest;
  const plain = name.slice(0, 1).toLowerCase() + name.slice(1);
  const known = protoField(of, of.name, name, migration);
  const field = known?.name ?? plain;
  const oneof = known ? known.oneof : oneofOf(of.declaration, field, migration);
  const isBig = isNumber(method) && (known ? known.isBig : isInt64(of, name));
  const member = (prefix: string): ts.ClassElement | undefined =>
    (method.parent as ts.ClassDeclaration).members.find((one) => one.name?.getText() === prefix + name);
  const getter = member("get") as ts.MethodDeclaration | undefined;
  const empty = isList ? "[]" : isOfMap ? "{}" : getter ? unset(getter, migration) : "undefined";
  const isOptional = member("has") !== undefined;
  return {
    of,
    verb,
    field,
    oneof,
    method,
    isList,
    isOfMap,
    isBig,
    isOptional,
    empty,
    target: node.expression.expression,
    node,
  };
}

/** Reports whether an accessor is one of numbers, and not of strings, as a field with `jstype` has them. */
function isNumber(method: ts.MethodDeclaration): boolean {
  return /\bnumber\b/.test((method.parameters[0]?.type ?? method.type)?.getText() ?? "");
}

type Accessor = NonNullable<ReturnType<typeof accessor>>;

/** The member that a setter sets, and its value. */
function written(found: Accessor, migration: Migration): readonly [name: string, value: string] {
  const { field, oneof } = found;
  const value = given(found, migration);
  return oneof === undefined ? [field, value] : writtenOneof(oneof, field, value);
}

/** The value that an accessor is called with. */
function given({ node, method, isList, isBig }: Accessor, migration: Migration): string {
  const [value] = node.arguments;
  const text = value ? migration.print(value) : "undefined";
  const type = method.parameters[0]?.type;
  const flags = value ? migration.checker.getTypeAtLocation(value).flags : 0;
  if (flags & ts.TypeFlags.StringLike && type?.getText().includes("Uint8Array"))
    return `Buffer.from(${text}, "base64")`;
  // Another enum, whose numbers those of ts-protoc-gen accept.
  if (value && flags & ts.TypeFlags.EnumLike && type && ts.isIndexedAccessTypeNode(type))
    return `${ts.isLeftHandSideExpression(value) ? text : `(${text})`}${migration.typed(" as number")}`;
  if (!isBig || !value) return text;
  return isList ? `Array.from(${text}, BigInt)` : bigintOf(value, text);
}

/** The result of a getter. */
function read({ field, oneof, isList, isBig, isOptional, empty }: Accessor, object: string): string {
  const number = (text: string): string => (isBig ? `Number(${text})` : text);
  if (oneof !== undefined) return readOneof(object, oneof, field, empty, number);
  if (isList) return `${object}.${field}${isBig ? ".map(Number)" : ""}`;
  // google-protobuf returns the default of an optional field that is not set.
  const hasDefault = isOptional && empty !== "undefined";
  const member = (own: string): string => number(hasDefault ? `${own}.${field} ?? ${empty}` : `${own}.${field}`);
  if (object.endsWith("?") && (hasDefault || isBig)) return readOf(object, member);
  return hasDefault && !isBig ? `(${member(object)})` : member(object);
}

/** `new Order().setId(id).setGift(true)`. */
const protobufInit: Rule = (node, migration) => {
  const fields: string[] = [];
  let one: ts.Node = node;
  for (let found = accessor(one, migration); found?.verb === "set"; found = accessor(one, migration)) {
    if (found.node.arguments.length > 0) fields.unshift(written(found, migration).join(": "));
    one = found.target;
  }
  if (!ts.isNewExpression(one)) return undefined;
  const made = classOf(one.expression, migration);
  if (made === undefined) return undefined;
  // A message without fields may be of another class than the one that is expected.
  const expected = one === node && migration.checker.getContextualType(one)?.getNonNullableType();
  const declaration = expected && !expected.isUnion() && migration.declarationOf(expected);
  const other = declaration && ts.isClassDeclaration(declaration) ? generatedBy(declaration) : undefined;
  const of = other?.by === "google-protobuf" ? other : made;
  if (one.arguments?.length)
    migration.leave(one, `the arguments of new ${of.name} are fields: pass an object to create`);
  const init = fields.length > 0 ? `, { ${fields.join(", ")} }` : "";
  return `${migration.imports.use(PROTOBUF, "create", node)}(${schemaOf(of, node, migration)}${init})`;
};

function isInstance(node: ts.Expression, migration: Migration): boolean {
  const declaration = migration.declarationOf(migration.checker.getTypeAtLocation(node).getNonNullableType());
  return (
    declaration !== undefined &&
    generatedBy(declaration)?.by === "google-protobuf" &&
    ts.isClassDeclaration(declaration)
  );
}

/** `order.getId()`, `order.setId(id);`, `order.addItems(item)`. */
const protobufAccess: Rule = (node, migration) => {
  const isText = ts.isTemplateSpan(node) || (ts.isPropertyAccessExpression(node) && node.name.text === "toString");
  if (isText && isInstance(node.expression, migration))
    migration.todo(node, "the text of a message is [object Object]: use toJsonString");
  const found = accessor(node, migration);
  if (found === undefined) return undefined;
  const { verb, field, oneof, target, of } = found;
  const callee = found.node.expression as ts.PropertyAccessExpression;
  const name = callee.getText();
  const object = (): string => `${migration.print(target)}${callee.questionDotToken ? "?" : ""}`;
  switch (verb) {
    case "get":
      if (name.endsWith("_asB64")) {
        if (!callee.questionDotToken) return `Buffer.from(${read(found, object())}).toString("base64")`;
        migration.leave(node, "bytes are a Uint8Array");
      }
      if (found.isOfMap && isPassed(node)) migration.leave(node, "maps are objects");
      return read(found, object());
    case "set": {
      const [member, given] = written(found, migration);
      return ts.isExpressionStatement(node.parent)
        ? `${object()}.${member} = ${given}`
        : `Object.assign(${object()}, { ${member}: ${given} })`;
    }
    case "add":
      return `${object()}.${field}.push(${given(found, migration)})`;
    case "clear":
      if (!ts.isExpressionStatement(node.parent)) break;
      if (oneof !== undefined)
        return `${object()}.${oneof}.case === "${field}" && (${object()}.${oneof} = { case: undefined })`;
      return `${object()}.${field} = ${found.isOptional ? "undefined" : found.isBig ? `BigInt(${found.empty})` : found.empty}`;
    case "has":
      if (oneof !== undefined) return `(${object()}.${oneof}.case === "${field}")`;
      return `(${object()}.${field} !== undefined)`;
  }
  const method = callee.name.text;
  if (method === "serializeBinary") return schemaCall("toBinary", of, [target], node, migration);
  if (method === "toObject") {
    migration.todo(node, "messages are objects: a list has no suffix List there");
    return migration.print(target);
  }
  migration.leave(node, `${method} of ${of.name} has no counterpart`);
  return undefined;
};

/** Reports whether a value is neither a member of which is called nor that of a variable. */
function isPassed({ parent }: ts.Node): boolean {
  return !ts.isPropertyAccessExpression(parent) && !(ts.isVariableDeclaration(parent) && !parent.type);
}

/** `Order.deserializeBinary(bytes)`, and the function itself. */
const protobufFunction: Rule = (node, migration) => {
  const callee = ts.isCallExpression(node) ? node.expression : node;
  if (!ts.isPropertyAccessExpression(callee) || callee.name.text !== "deserializeBinary") return undefined;
  const of = classOf(callee.expression, migration);
  if (of === undefined) return undefined;
  if (ts.isCallExpression(node)) return schemaCall("fromBinary", of, node.arguments, node, migration);
  const call = `${migration.imports.use(PROTOBUF, "fromBinary", node)}(${schemaOf(of, node, migration)}, bytes)`;
  const text = `(bytes${migration.typed(": Uint8Array")}) => ${call}`;
  const { parent } = node;
  const isItem = ts.isCallExpression(parent) || ts.isArrayLiteralExpression(parent);
  return ts.isExpression(parent) && !isItem ? `(${text})` : text;
};

/** Names of google-protobuf that protoc-gen-es writes otherwise: those in namespaces, and those of well-known types. */
const protobufName: Rule = (node, migration) => {
  const enumOf = mappedEnum(node, migration);
  if (enumOf !== undefined) return enumOf;
  const isNested = ts.isQualifiedName(node) || ts.isPropertyAccessExpression(node);
  if (!isNested && (!ts.isIdentifier(node) || ts.isImportSpecifier(node.parent))) return undefined;
  if (!ts.isExpression(node.parent) && isBaseMessage(migration.declared(node)))
    return migration.imports.use(PROTOBUF, "Message", node);
  const of = generatedOf(node, migration);
  if (of?.by !== "google-protobuf") return undefined;
  const { declaration } = of;
  const owner = ts.isQualifiedName(node) ? node.left : ts.isPropertyAccessExpression(node) ? node.expression : node;
  if (ts.isTypeAliasDeclaration(declaration) && isNested)
    return `Omit<${migration.print(owner)}, "$typeName" | "$unknown">`;
  const isMember = ts.isEnumMember(declaration) || isMapped(declaration);
  if (isMember && isNested) return `${migration.print(owner)}.${enumMember(of, migration)}`;
  const isOther = isNested ? of.name.includes("_") : isWellKnown(of) && of.name === node.text;
  const isKnown = [ts.isClassDeclaration, ts.isEnumDeclaration, ts.isVariableDeclaration].some((is) => is(declaration));
  return isOther && isKnown ? useGenerated(of.name, "pb", of, node, migration) : undefined;
};

/** `order.toObject().itemsList`. */
const protobufMember: Rule = (node, migration) => {
  const declaration = ts.isPropertyAccessExpression(node) && migration.declared(node);
  if (!declaration || !ts.isPropertySignature(declaration) || !ts.isTypeLiteralNode(declaration.parent))
    return undefined;
  const of = generatedBy(declaration);
  const object = declaration.parent.parent;
  if (of?.by !== "google-protobuf" || !ts.isTypeAliasDeclaration(object)) return undefined;
  const { text } = node.name;
  const isList = text.endsWith("List") && declaration.type?.getText().startsWith("Array<");
  const own = isList ? text.slice(0, -"List".length) : text;
  const message = generatedBy(object)?.name.replace(/_AsObject$/, "") ?? "";
  const known = protoField(of, message, own, migration);
  const field = known?.name ?? own;
  const oneof = known ? known.oneof : oneofOf(object.parent.parent as ts.ModuleDeclaration, own, migration);
  if (oneof === undefined) return migration.children(node).slice(0, -text.length) + field;
  const target = `${migration.print(node.expression)}${node.questionDotToken ? "?" : ""}`;
  return readOneof(target, oneof, field, "undefined", (value) => value);
};

/** Reports whether a declaration is the class that all messages extend. */
function isBaseMessage(node: ts.Node | undefined): boolean {
  if (!node || !ts.isClassDeclaration(node) || node.name?.text !== "Message") return false;
  return node.getSourceFile().fileName.endsWith("/google-protobuf/index.d.ts");
}

/** `message.toObject()` of any message. */
const anyObject: Rule = (node, migration) => {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
  const { expression, name } = node.expression;
  const declaration = migration.declared(name);
  if (name.text !== "toObject" || !isBaseMessage(declaration?.parent) || node.arguments.length > 0) return undefined;
  migration.todo(node, "messages are objects: JSON.stringify refuses their integers of 64 bits, use toJson");
  return migration.print(expression);
};

/** Reports whether a declaration is a member of an enum of ts-protoc-gen, a constant of a type such as `StatusMap`. */
function isMapped(node: ts.Declaration): boolean {
  return (
    ts.isPropertySignature(node) && ts.isInterfaceDeclaration(node.parent) && node.parent.name.text.endsWith("Map")
  );
}

/** `StatusMap[keyof StatusMap]`, which is the type of the values of such an enum. */
function mappedEnum(node: ts.Node, migration: Migration): string | undefined {
  const isValue = ts.isIndexedAccessTypeNode(node) && ts.isTypeOperatorNode(node.indexType);
  const type = isValue ? node.objectType : node;
  if (!ts.isTypeReferenceNode(type)) return undefined;
  const of = generatedOf(type.typeName, migration);
  const member = of?.by === "google-protobuf" && ts.isInterfaceDeclaration(of.declaration) && of.declaration.members[0];
  if (!of || !member || !isMapped(member)) return undefined;
  const name = useGenerated(of.name.slice(0, -"Map".length), "pb", of, node, migration);
  return isValue ? name : `typeof ${name}`;
}

export const protobufRules: readonly Rule[] = [
  messageClass,
  messageClassPart,
  protobufInit,
  wellKnown,
  protobufMap,
  protobufFunction,
  readMessage,
  protobufAccess,
  anyObject,
  protobufMember,
  oneofCase,
  protobufValue,
  protobufName,
];
