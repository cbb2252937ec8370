/** Messages of google-protobuf, classes with accessors, as those of protobuf-es. */
import { ts } from "ts-morph";
import {
  bareName,
  type Generated,
  generatedBy,
  generatedOf,
  isWellKnown,
  schemaCall,
  schemaOf,
  useGenerated,
} from "./generated.ts";
import type { Migration, Rule } from "./migration.ts";
import { oneofCase, oneofOf, readOneof, writtenOneof } from "./protobuf-oneofs.ts";
import { isFunction } from "./tree.ts";

const PROTOBUF = "@bufbuild/protobuf";

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
  const name = isList ? rest.slice(0, -"List".length) : rest.replace(/_asU8$/, "");
  const field = name.slice(0, 1).toLowerCase() + name.slice(1);
  const oneof = oneofOf(of.declaration, field, migration);
  return { of, verb, field, oneof, method, target: node.expression.expression, node };
}

type Accessor = NonNullable<ReturnType<typeof accessor>>;

/** The member that a setter sets, and its value. */
function written({ field, oneof }: Accessor, value: string): readonly [name: string, value: string] {
  return oneof === undefined ? [field, value] : writtenOneof(oneof, field, value);
}

/** `new Order().setId(id).setGift(true)`. */
const protobufInit: Rule = (node, migration) => {
  const fields: string[] = [];
  let one: ts.Node = node;
  for (let found = accessor(one, migration); found?.verb === "set"; found = accessor(one, migration)) {
    const [value] = found.node.arguments;
    if (value !== undefined) fields.unshift(written(found, migration.print(value)).join(": "));
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
  const isText = ts.isTemplateSpan(node) || (ts.isPropertyAccessExpression(node) && node.name.text === "toString");
  if (isText && isInstance(node.expression, migration))
    migration.todo(node, "the text of a message is [object Object]: use toJsonString");
  const found = accessor(node, migration);
  if (found === undefined) return protobufFunction(node, migration);
  const { verb, field, oneof, target, of } = found;
  const callee = found.node.expression as ts.PropertyAccessExpression;
  const name = callee.getText();
  const object = (): string => `${migration.print(target)}${callee.questionDotToken ? "?" : ""}`;
  const value = (): string => found.node.arguments.map((one) => migration.print(one)).join(", ");
  switch (verb) {
    case "get":
      if (name.endsWith("Map") || name.endsWith("_asB64"))
        migration.leave(node, "maps are objects, and bytes are a Uint8Array");
      if (oneof !== undefined) return readOneof(object(), oneof, field, found.method, migration);
      return `${object()}.${field}`;
    case "set": {
      const [member, given] = written(found, value());
      return ts.isExpressionStatement(node.parent)
        ? `${object()}.${member} = ${given}`
        : `Object.assign(${object()}, { ${member}: ${given} })`;
    }
    case "add":
      return `${object()}.${field}.push(${value()})`;
    case "has":
      if (oneof !== undefined) return `(${object()}.${oneof}.case === "${field}")`;
      return `(${object()}.${field} !== undefined)`;
  }
  const method = callee.name.text;
  // A field of the type Struct is an object of JSON.
  if (method === "toJavaScript" && of.name === "Struct") return migration.print(target);
  if (method === "fromJavaScript" && of.name === "Struct")
    return `(${value()} as ${migration.imports.use(PROTOBUF, "JsonObject", node)})`;
  if (method === "serializeBinary") return schemaCall("toBinary", of, [target], node, migration);
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
    ? schemaCall("fromBinary", of, node.arguments, node, migration)
    : undefined;
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

export const protobufRules: readonly Rule[] = [protobufInit, protobufAccess, oneofCase, protobufName];
