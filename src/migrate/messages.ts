/** Messages of ts-proto, in place of which protoc-gen-es generates others. */
import { ts } from "ts-morph";
import {
  bareName,
  type Generated,
  generatedBy,
  generatedOf,
  schemaCall,
  schemaOf,
  servicePart,
  useGenerated,
} from "./generated.ts";
import { generatorOf } from "./generator.ts";
import type { Migration, Rule } from "./migration.ts";
import { protobufRules } from "./protobuf-messages.ts";
import { tsProtoField, tsProtoFieldName, tsProtoKeys, tsProtoOneof } from "./ts-proto-fields.ts";
import { tsProtoOneofs } from "./ts-proto-oneofs.ts";
import { expectedType } from "./ts-proto-types.ts";

const PROTOBUF = "@bufbuild/protobuf";

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
  const [first] = node.arguments;
  if (of?.by === "ts-proto" && own === "fromJson" && first && isPartial(first, migration)) {
    const create = migration.imports.use(PROTOBUF, "create", node);
    const type = migration.typed(` as ${useGenerated(of.name, "pb", of, node, migration)}`);
    return `${create}(${schemaOf(of, node, migration)}, ${migration.print(first)}${type})`;
  }
  return of?.by === "ts-proto" && own ? schemaCall(own, of, node.arguments, node, migration) : undefined;
};

/** Reports whether an expression is a message of which fields may be absent, `Partial<Order>`, and not JSON. */
function isPartial(node: ts.Node, migration: Migration): boolean {
  const { aliasSymbol, aliasTypeArguments } = migration.checker.getTypeAtLocation(node);
  const [of] = aliasTypeArguments ?? [];
  return aliasSymbol?.name === "Partial" && of !== undefined && generatedType(of, migration)?.by === "ts-proto";
}

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
  const type = expectedType(node, migration)?.getNonNullableType();
  // An async function may return its result or a promise of it.
  const of = (type?.isUnion() ? type.types : [type]).map((one) => one && generatedType(one, migration)).find(Boolean);
  if (!of || !isPlain(of) || !isMessage(of.declaration) || isInit(node, migration)) return undefined;
  // `message ?? {}`, which has no fields.
  const isOther = ts.isBinaryExpression(node.parent) && node.properties.length === 0;
  if (isOther && (of.declaration as ts.InterfaceDeclaration).members.length > 0) return undefined;
  const text = migration.children(node);
  return `${migration.imports.use(PROTOBUF, "create", node)}(${schemaOf(of, node, migration)}, ${text})`;
};

function generatedType(type: ts.Type, migration: Migration): Generated | undefined {
  const declaration = migration.declarationOf(type);
  return declaration && generatedBy(declaration);
}

/** Reports whether messages are objects, whose type is an interface. */
function isPlain({ by }: Generated): boolean {
  return by === "ts-proto" || by === "proto-loader";
}

function isMessage(node: ts.Declaration): boolean {
  return ts.isInterfaceDeclaration(node) && !node.heritageClauses && node.members.every(ts.isPropertySignature);
}

/** Reports whether a literal is part of another message, or is passed to a client, a handler's call or a function of ts-proto. */
function isInit(node: ts.Node, migration: Migration): boolean {
  const { parent } = node;
  if (
    ts.isPropertyAssignment(parent) ||
    ts.isArrayLiteralExpression(parent) ||
    ts.isParenthesizedExpression(parent) ||
    ts.isConditionalExpression(parent) ||
    ts.isBinaryExpression(parent)
  )
    return isInit(parent, migration);
  // Fields that are spread: those that it lacks stay.
  if (ts.isSpreadAssignment(parent)) return true;
  if (ts.isObjectLiteralExpression(parent)) {
    const type = expectedType(parent, migration);
    const of = type?.isUnion() ? type.getNonNullableType() : type;
    const found = of && generatedType(of, migration);
    return found !== undefined && isPlain(found);
  }
  if (!ts.isCallExpression(parent) || parent.expression === node) return false;
  // These take a whole message.
  if (/\.(?:encode|toJSON)$/.test(parent.expression.getText())) return false;
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
      const type = useGenerated(of.name, "pb", of, node.expression, migration);
      if (name !== "UNRECOGNIZED") return `${type}.${name}`;
      migration.leave(node, "UNRECOGNIZED has no counterpart: other values are their numbers");
      return `(-1${migration.typed(` as number as ${type}`)})`;
    }
  }
  if (ts.isTypeReferenceNode(node) && ["DeepPartial", "Partial"].includes(node.typeName.getText())) {
    const [of] = node.typeArguments ?? [];
    const generated = of && ts.isTypeReferenceNode(of) ? generatedOf(of.typeName, migration) : undefined;
    if (generated?.by === "ts-proto") {
      // A message to create has its $typeName, or none.
      if (node.typeName.getText() === "Partial") return `Partial<Omit<${migration.print(of as ts.Node)}, "$typeName">>`;
      return `${migration.imports.use(PROTOBUF, "MessageInitShape", node)}<typeof ${schemaOf(generated, node, migration)}>`;
    }
  }
  if (!ts.isIdentifier(node) || ts.isImportSpecifier(node.parent)) return undefined;
  const of = generatedOf(node, migration);
  if (of?.by !== "ts-proto") return undefined;
  if (ts.isFunctionDeclaration(of.declaration)) migration.leave(node, `${of.name} of ts-proto has no counterpart`);
  if (!isMessageOrEnum(of.declaration) || ts.isPropertyAccessExpression(node.parent)) return undefined;
  // The value of a message, which its functions are members of.
  if (ts.isInterfaceDeclaration(of.declaration) && isValue(node)) return schemaOf(of, node, migration);
  return useGenerated(of.name, "pb", of, node, migration);
};

function isValue({ parent }: ts.Node): boolean {
  return (ts.isExpression(parent) && !ts.isExpressionWithTypeArguments(parent)) || ts.isVariableDeclaration(parent);
}

function isMessageOrEnum(node: ts.Declaration): boolean {
  return ts.isEnumDeclaration(node) || isMessage(node);
}

/** `export { OrderClient }`, of names that the file imports. */
const localExports: Rule = (node, migration) => {
  if (!ts.isNamedExports(node) || node.parent.moduleSpecifier) return undefined;
  const parts = node.elements.map((one) => exportedPart(one, migration));
  if (parts.every((one) => one === undefined)) return undefined;
  const texts = node.elements.map((one, i) => parts[i] ?? migration.print(one));
  return `{ ${texts.filter((text) => text !== "").join(", ")} }`;
};

/** The export of a part of a service. An empty one: it has no counterpart. */
function exportedPart(node: ts.ExportSpecifier, migration: Migration): string | undefined {
  const name = node.propertyName ?? node.name;
  const of = generatedOf(name, migration);
  if (of?.by !== "ts-proto" || isMessageOrEnum(of.declaration)) return undefined;
  const symbol = migration.checker.getSymbolAtLocation(ts.getNameOfDeclaration(of.declaration) ?? name);
  const isType = symbol !== undefined && (symbol.flags & ts.SymbolFlags.Value) === 0;
  const part = servicePart(of);
  if (!part && isType) migration.leave(node, `${of.name} of ts-proto has no counterpart: it is exported no more`);
  if (!part) return isType ? "" : undefined;
  const own = useGenerated(part, "triple", of, name, migration);
  const text = own === node.name.text ? own : `${own} as ${node.name.text}`;
  return isType && !node.parent.parent.isTypeOnly ? `type ${text}` : text;
}

/** `export { Order, OrderClient } from "./gen/order"`. */
function named(node: ts.ExportDeclaration, clause: ts.NamedExportBindings, migration: Migration): string | undefined {
  const file = node.moduleSpecifier && migration.fileOf(node.moduleSpecifier);
  if (!file || generatorOf(file) !== "ts-proto" || !ts.isNamedExports(clause)) return undefined;
  const names = { pb: [] as string[], triple: [] as string[] };
  for (const one of clause.elements) {
    const of = generatedOf(one.propertyName ?? one.name, migration);
    const { declaration } = of ?? {};
    const isType = declaration && ts.isInterfaceDeclaration(declaration);
    const isMember = declaration && isMessageOrEnum(declaration);
    const own = of && (isMember ? of.name : servicePart(of));
    if (!own) {
      migration.leave(one, `${one.name.text} of ts-proto has no counterpart: it is exported no more`);
      continue;
    }
    const alias = own === one.name.text ? own : `${own} as ${one.name.text}`;
    names[isMember ? "pb" : "triple"].push(isType && !node.isTypeOnly ? `type ${alias}` : alias);
  }
  const text = node.moduleSpecifier.getText();
  const [, base = "", extension = ""] = /^(.*?)(\.[jt]s)?$/.exec(text.slice(1, -1)) ?? [];
  const type = node.isTypeOnly ? "type " : "";
  return (["pb", "triple"] as const)
    .filter((suffix) => names[suffix].length > 0)
    .map(
      (suffix) =>
        `export ${type}{ ${names[suffix].join(", ")} } from ${text[0]}${base}_${suffix}${extension}${text[0]};`,
    )
    .join("\n");
}

/** `export * from "./gen/order"`, whose names are those of other modules. */
const barrel: Rule = (node, migration) => {
  if (!ts.isExportDeclaration(node) || !node.moduleSpecifier) return undefined;
  if (node.exportClause) return named(node, node.exportClause, migration);
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
  const names = migration.checker.getExportsOfModule(symbol);
  if (file?.fileName.includes("/google/protobuf/")) {
    const messages = names.filter(({ declarations = [] }) => declarations.some(isMessage)).map(({ name }) => name);
    return `export { ${messages.map((one) => `type ${one}, ${one}Schema`).join(", ")} } from ${text[0]}${PROTOBUF}/wkt${text[0]};`;
  }
  const hasServices = names.some(({ name }) =>
    ["Definition", "Service", "Client"].some((suffix) => name.endsWith(suffix)),
  );
  return [from(`${base}_pb`), ...(hasServices ? [from(`${base}_triple`)] : [])].join("\n");
};

export const messageRules: readonly Rule[] = [
  tsProtoFunction,
  tsProtoEnum,
  tsProtoLiteral,
  tsProtoName,
  tsProtoOneof,
  ...tsProtoOneofs,
  tsProtoField,
  tsProtoFieldName,
  tsProtoKeys,
  ...protobufRules,
  localExports,
  barrel,
];
