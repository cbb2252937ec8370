/** Messages of ts-proto and google-protobuf, in place of which protoc-gen-es generates others. */
import { ts } from "ts-morph";
import { type Generated, generatedBy, generatedOf, isWellKnown, useGenerated } from "./generated.ts";
import { generatorOf } from "./generator.ts";
import type { Migration, Rule } from "./migration.ts";
import { isFunction } from "./tree.ts";
import { tsProtoField, tsProtoOneof } from "./ts-proto-fields.ts";

const PROTOBUF = "@bufbuild/protobuf";

function schemaOf(of: Generated, node: ts.Node, migration: Migration): string {
  return useGenerated(`${of.name}Schema`, "pb", of, node, migration);
}

function call(name: string, of: Generated, args: readonly ts.Node[], node: ts.Node, migration: Migration): string {
  const given = args.map((one) => {
    const isUnknown = name === "fromJson" && migration.checker.getTypeAtLocation(one).flags & ts.TypeFlags.Unknown;
    return `${migration.print(one)}${isUnknown ? ` as ${migration.imports.use(PROTOBUF, "JsonValue", one.parent)}` : ""}`;
  });
  return `${migration.imports.use(PROTOBUF, name, node)}(${[schemaOf(of, node, migration), ...given].join(", ")})`;
}

/** Functions of messages of ts-proto, by those of protobuf-es. */
const FUNCTIONS: ReadonlyMap<string, string> = new Map([
  ["create", "create"],
  ["fromPartial", "create"],
  ["decode", "fromBinary"],
  ["encode", "toBinary"],
  ["fromJSON", "fromJson"],
  ["toJSON", "toJson"],
]);

/** `Order.fromPartial({ id })`, `Order.encode(order).finish()`. */
const tsProtoFunction: Rule = (node, migration) => {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
  const { expression, name } = node.expression;
  if (name.text === "finish" && ts.isCallExpression(expression)) return tsProtoFunction(expression, migration);
  const of = generatedOf(expression, migration);
  const own = FUNCTIONS.get(name.text);
  return of?.by === "ts-proto" && own ? call(own, of, node.arguments, node, migration) : undefined;
};

/** `orderStatusToJSON(status)` and `orderStatusFromJSON(json)`. */
const tsProtoEnum: Rule = (node, migration) => {
  if (!ts.isCallExpression(node)) return undefined;
  const of = generatedOf(node.expression, migration);
  const [, name = "", way] = /^(\w+)(To|From)JSON$/.exec(of?.name ?? "") ?? [];
  if (of?.by !== "ts-proto" || !way) return undefined;
  const schema = schemaOf({ ...of, name: name.slice(0, 1).toUpperCase() + name.slice(1) }, node, migration);
  const args = node.arguments.map((one) => migration.print(one)).join(", ");
  const text = `${migration.imports.use(PROTOBUF, `enum${way}Json`, node)}(${schema}, ${args})`;
  return way === "To" ? `(${text} as string)` : text;
};

/** The message that an object literal is, if a type of ts-proto is expected and not the init shape of protobuf-es. */
const tsProtoLiteral: Rule = (node, migration) => {
  if (!ts.isObjectLiteralExpression(node)) return undefined;
  const type = migration.checker.getContextualType(node)?.getNonNullableType();
  // An async function may return its result or a promise of it.
  const of = (type?.isUnion() ? type.types : [type]).map((one) => one && generatedType(one, migration)).find(Boolean);
  if (of?.by !== "ts-proto" || !isMessage(of.declaration) || isInit(node, migration)) return undefined;
  const text = migration.children(node);
  return `${migration.imports.use(PROTOBUF, "create", node)}(${schemaOf(of, node, migration)}, ${text})`;
};

function generatedType(type: ts.Type, migration: Migration): Generated | undefined {
  const declaration = migration.declarationOf(type);
  return declaration && generatedBy(declaration);
}

function isMessage(node: ts.Declaration): boolean {
  return ts.isInterfaceDeclaration(node) && !node.heritageClauses && node.members.every(ts.isPropertySignature);
}

/** Reports whether a literal is part of another message, or is passed to a client, a handler's call or a function of ts-proto. */
function isInit(node: ts.Node, migration: Migration): boolean {
  const { parent } = node;
  if (ts.isPropertyAssignment(parent) || ts.isArrayLiteralExpression(parent) || ts.isParenthesizedExpression(parent))
    return isInit(parent, migration);
  if (ts.isObjectLiteralExpression(parent)) {
    const type = migration.checker.getContextualType(parent);
    return type !== undefined && generatedType(type, migration)?.by === "ts-proto";
  }
  if (!ts.isCallExpression(parent) || parent.expression === node) return false;
  const declaration = migration.checker.getResolvedSignature(parent)?.declaration;
  return (
    declaration !== undefined &&
    (generatorOf(declaration.getSourceFile()) !== undefined || migration.isDeclaredOld(declaration))
  );
}

/** Names of messages and enums of ts-proto, and members of enums, without the prefix that protobuf-es omits. */
const tsProtoName: Rule = (node, migration) => {
  if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression)) {
    const of = generatedOf(node.expression, migration);
    if (of?.by === "ts-proto" && ts.isEnumDeclaration(of.declaration)) {
      const name = bareName(node.name.text, of.declaration);
      if (name === "UNRECOGNIZED") migration.leave(node, "UNRECOGNIZED has no counterpart");
      return `${useGenerated(of.name, "pb", of, node.expression, migration)}.${name}`;
    }
  }
  if (ts.isTypeReferenceNode(node) && node.typeName.getText() === "DeepPartial") {
    const [of] = node.typeArguments ?? [];
    const generated = of && ts.isTypeReferenceNode(of) ? generatedOf(of.typeName, migration) : undefined;
    if (generated?.by === "ts-proto")
      return `${migration.imports.use(PROTOBUF, "MessageInitShape", node)}<typeof ${schemaOf(generated, node, migration)}>`;
  }
  if (!ts.isIdentifier(node) || ts.isImportSpecifier(node.parent)) return undefined;
  const of = generatedOf(node, migration);
  if (of?.by !== "ts-proto") return undefined;
  if (ts.isFunctionDeclaration(of.declaration)) migration.leave(node, `${of.name} of ts-proto has no counterpart`);
  if (
    !(ts.isEnumDeclaration(of.declaration) || isMessage(of.declaration)) ||
    ts.isPropertyAccessExpression(node.parent)
  )
    return undefined;
  // The value of a message, which its functions are members of.
  if (ts.isInterfaceDeclaration(of.declaration) && isValue(node)) return schemaOf(of, node, migration);
  return useGenerated(of.name, "pb", of, node, migration);
};

function isValue({ parent }: ts.Node): boolean {
  return (ts.isExpression(parent) && !ts.isExpressionWithTypeArguments(parent)) || ts.isVariableDeclaration(parent);
}

/** The class of a message of google-protobuf. */
function classOf(node: ts.Node, migration: Migration): Generated | undefined {
  const of = generatedOf(node, migration);
  return of?.by === "google-protobuf" && ts.isClassDeclaration(of.declaration) ? of : undefined;
}

/** The types of messages that the old code has as `any`. */
const types = new WeakMap<ts.Node, ts.Type>();

/** Remembers the type of the message that a listener is called with. */
export function typeMessage(listener: ts.Node, type: ts.Type | undefined): void {
  const [parameter] = isFunction(listener) ? listener.parameters : [];
  if (parameter && !parameter.type && type) types.set(parameter, type);
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
  const known = typeOf(object, migration)?.getProperty(called.text)?.declarations?.[0];
  const method = migration.declared(called) ?? known;
  if (!method || !ts.isMethodDeclaration(method)) return undefined;
  const of = generatedBy(method.parent as ts.Declaration);
  if (of?.by !== "google-protobuf") return undefined;
  const [, verb = "", rest = ""] = /^(get|set|add|has|clear)([A-Z].*)$/.exec(node.expression.name.text) ?? [];
  const isList = rest.endsWith("List") && (verb === "clear" || method.getText().includes("Array<"));
  const name = isList ? rest.slice(0, -"List".length) : rest;
  return { of, verb, field: name.slice(0, 1).toLowerCase() + name.slice(1), target: node.expression.expression, node };
}

/** `new Order().setId(id).setGift(true)`. */
const protobufInit: Rule = (node, migration) => {
  const fields: string[] = [];
  let one: ts.Node = node;
  for (let found = accessor(one, migration); found?.verb === "set"; found = accessor(one, migration)) {
    const [value] = found.node.arguments;
    if (value !== undefined) fields.unshift(`${found.field}: ${migration.print(value)}`);
    one = found.target;
  }
  if (!ts.isNewExpression(one)) return undefined;
  const of = classOf(one.expression, migration);
  if (of === undefined) return undefined;
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
  if (ts.isPropertyAccessExpression(node) && node.name.text === "toString" && isInstance(node.expression, migration))
    migration.todo(node, "the text of a message is [object Object]: use toJsonString");
  const found = accessor(node, migration);
  if (found === undefined) return protobufFunction(node, migration);
  const { verb, field, target, of } = found;
  const callee = found.node.expression as ts.PropertyAccessExpression;
  const name = callee.getText();
  const object = (): string => `${migration.print(target)}${callee.questionDotToken ? "?" : ""}`;
  const value = (): string => found.node.arguments.map((one) => migration.print(one)).join(", ");
  switch (verb) {
    case "get":
      if (name.endsWith("Map") || name.includes("_as"))
        migration.leave(node, "maps are objects, and bytes are a Uint8Array");
      return `${object()}.${field}`;
    case "set":
      return ts.isExpressionStatement(node.parent)
        ? `${object()}.${field} = ${value()}`
        : `Object.assign(${object()}, { ${field}: ${value()} })`;
    case "add":
      return `${object()}.${field}.push(${value()})`;
    case "has":
      return `(${object()}.${field} !== undefined)`;
  }
  const method = callee.name.text;
  if (method === "serializeBinary") return call("toBinary", of, [target], node, migration);
  if (method === "toObject") {
    migration.todo(node, "messages are objects: a list has no suffix List there");
    return migration.print(target);
  }
  migration.leave(node, `${method} of ${of.name} has no counterpart`);
  return undefined;
};

/** `Order.deserializeBinary(bytes)`. */
const protobufFunction: Rule = (node, migration) => {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
  const of = classOf(node.expression.expression, migration);
  return of && node.expression.name.text === "deserializeBinary"
    ? call("fromBinary", of, node.arguments, node, migration)
    : undefined;
};

/** `export * from "./gen/order"`, whose names are those of other modules. */
const barrel: Rule = (node, migration) => {
  if (!ts.isExportDeclaration(node) || !node.moduleSpecifier || node.exportClause) return undefined;
  const symbol = migration.checker.getSymbolAtLocation(node.moduleSpecifier);
  const file = migration.fileOf(node.moduleSpecifier);
  const by = file && generatorOf(file);
  const text = node.moduleSpecifier.getText();
  const specifier = text.slice(1, -1);
  const extension = [".js", ".ts"].find((one) => specifier.endsWith(one)) ?? "";
  const base = specifier.slice(0, specifier.length - extension.length);
  const from = (name: string): string => `export * from ${text[0]}${name}${extension}${text[0]};`;
  if (by === "grpc-tools") return from(`${base.slice(0, -"_grpc_pb".length)}_triple`);
  if (by !== "ts-proto" || !symbol) return undefined;
  const hasServices = migration.checker
    .getExportsOfModule(symbol)
    .some(({ name }) => ["Definition", "Service", "Client"].some((suffix) => name.endsWith(suffix)));
  return [from(`${base}_pb`), ...(hasServices ? [from(`${base}_triple`)] : [])].join("\n");
};

/** Names of google-protobuf that protoc-gen-es writes otherwise: those in namespaces, and those of well-known types. */
const protobufName: Rule = (node, migration) => {
  const isNested = ts.isQualifiedName(node) || ts.isPropertyAccessExpression(node);
  if (!isNested && (!ts.isIdentifier(node) || ts.isImportSpecifier(node.parent))) return undefined;
  const of = generatedOf(node, migration);
  if (of?.by !== "google-protobuf") return undefined;
  const { declaration } = of;
  const owner = ts.isQualifiedName(node) ? node.left : ts.isPropertyAccessExpression(node) ? node.expression : node;
  if (ts.isTypeAliasDeclaration(declaration) && isNested)
    return `Omit<${migration.print(owner)}, "$typeName" | "$unknown">`;
  if (ts.isEnumMember(declaration) && isNested)
    return `${migration.print(owner)}.${bareName(declaration.name.getText(), declaration.parent)}`;
  const isOther = isNested ? of.name.includes("_") : isWellKnown(of) && of.name === node.text;
  return isOther && (ts.isClassDeclaration(declaration) || ts.isEnumDeclaration(declaration))
    ? useGenerated(of.name, "pb", of, node, migration)
    : undefined;
};

/** The name of a member of an enum, without the prefix that protobuf-es omits if all have it before a name. */
function bareName(name: string, { name: own, members }: ts.EnumDeclaration): string {
  // ts-proto names a nested enum after its message, and adds a member.
  const words = own.text.slice(own.text.lastIndexOf("_") + 1).replaceAll(/[A-Z]/g, "_$&");
  const prefix = `${words.slice(1).toUpperCase()}_`;
  const names = members.map((one) => one.name.getText()).filter((one) => one !== "UNRECOGNIZED");
  const isShared = names.every((one) => one.startsWith(prefix) && (one[prefix.length] ?? "") > "9");
  return isShared && name !== "UNRECOGNIZED" ? name.slice(prefix.length) : name;
}

export const messageRules: readonly Rule[] = [
  tsProtoFunction,
  tsProtoEnum,
  tsProtoLiteral,
  tsProtoName,
  tsProtoOneof,
  tsProtoField,
  protobufInit,
  protobufAccess,
  protobufName,
  barrel,
];
