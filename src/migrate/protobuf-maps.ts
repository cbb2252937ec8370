/** Fields of google-protobuf that are maps, objects of a class, as objects of protobuf-es. */
import { ts } from "ts-morph";
import { generatedBy, packageOf } from "./generated.ts";
import type { Migration, Rule } from "./migration.ts";
import { isFunction } from "./tree.ts";

/** Reports whether a type is that of maps. */
export function isMap(type: ts.Type): boolean {
  const declaration = type.symbol?.declarations?.[0];
  const file = declaration?.getSourceFile().fileName ?? "";
  return type.symbol?.name === "Map" && file.endsWith("/google-protobuf/index.d.ts");
}

/** The key and value types of the map that an expression is. */
function typesOf(node: ts.Expression, { checker }: Migration): readonly ts.Type[] | undefined {
  const type = checker.getTypeAtLocation(node).getNonNullableType();
  return isMap(type) ? checker.getTypeArguments(type as ts.TypeReference) : undefined;
}

/** The field of a message with a single one, texts, whose array of fields is known. */
function onlyText(message: ts.Type | undefined, { protos, declarationOf }: Migration): string | undefined {
  const declaration = message && declarationOf(message);
  const of = declaration && generatedBy(declaration);
  const fields = of && protos.message(packageOf(declaration), of.name);
  const [field] = fields?.values() ?? [];
  return fields?.size === 1 && field?.isText && field.number === 1 ? field.name : undefined;
}

/** `order.getLabelsMap().set(key, value)` and other methods of maps. */
export const protobufMap: Rule = (node, migration) => {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
  const { expression: target, name } = node.expression;
  const types = typesOf(target, migration);
  if (types === undefined) return undefined;
  const [key, value] = types;
  const map = migration.print(target);
  const [first, second] = node.arguments.map((one) => migration.print(one));
  const isStatement = ts.isExpressionStatement(node.parent) || ts.isArrowFunction(node.parent);
  const isText = key !== undefined && (key.flags & ts.TypeFlags.StringLike) !== 0;
  const isMessage = value?.isClassOrInterface() === true;
  const [given] = node.arguments;
  const names = isFunction(given) ? given.parameters.map((one) => one.name.getText()) : [];
  switch (name.text) {
    case "get":
      return `${map}[${first}]`;
    case "set":
      return isStatement ? `${map}[${first}] = ${second}` : other(node, migration);
    case "has":
      return `Object.hasOwn(${map}, ${first})`;
    case "del":
      return `delete ${map}[${first}]`;
    case "getLength":
      return `Object.keys(${map}).length`;
  }
  const field = isText && isMessage && name.text === "getEntryList" ? onlyText(value, migration) : undefined;
  if (field) return `Object.entries(${map}).map(([key, { ${field} }]) => [key, [${field}]])`;
  // Keys of objects are strings. Entries of messages are arrays of their fields.
  if (!isText || (isMessage && ["getEntryList", "toArray", "toObject"].includes(name.text)))
    return other(node, migration);
  switch (name.text) {
    case "getEntryList":
    case "entries":
    case "toArray":
    case "toObject":
      return `Object.entries(${map})`;
    case "keys":
    case "values":
      return `Object.${name.text}(${map})`;
    case "forEach":
      if (isFunction(given) && names.length < 3 && !second) {
        const [one = "_", own] = names;
        const parameters = own ? `[${own}, ${one}]` : `[, ${one}]`;
        const head = given.modifiers ? "async " : "";
        return `Object.entries(${map}).forEach(${head}(${parameters}) => ${migration.print(given.body)})`;
      }
  }
  return other(node, migration);
};

function other(node: ts.CallExpression, migration: Migration): undefined {
  migration.leave(node, "maps are objects");
}
