/** Methods of well-known types of google-protobuf, as functions of protobuf-es. */
import { ts } from "ts-morph";
import { type Generated, generatedBy, generatedOf, isWellKnown, schemaOf } from "./generated.ts";
import type { Migration, Rule } from "./migration.ts";
import { readOf } from "./protobuf-oneofs.ts";

const PROTOBUF = "@bufbuild/protobuf";
const WKT = "@bufbuild/protobuf/wkt";

/** `timestamp.toDate()`, `Timestamp.fromDate(date)`, `any.unpack(Order.deserializeBinary, name)`, `value.toJavaScript()`. */
export const wellKnown: Rule = (node, migration) => {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
  const method = migration.declared(node.expression.name);
  const of = method && ts.isMethodDeclaration(method) ? generatedBy(method.parent as ts.Declaration) : undefined;
  if (of?.by !== "google-protobuf" || !isWellKnown(of)) return undefined;
  const { expression: target, name, questionDotToken } = node.expression;
  const use = (module: string, own: string): string => migration.imports.use(module, own, node);
  const read = (member: (own: string) => string): string =>
    questionDotToken ? readOf(`${migration.print(target)}?`, member) : member(migration.print(target));
  const [first] = node.arguments;
  const given = (): string => (first ? migration.print(first) : "");
  const json = (): string => `${given()}${migration.typed(` as ${use(PROTOBUF, "JsonValue")}`)}`;
  switch (`${of.name}.${name.text}`) {
    case "Timestamp.toDate":
      return read((own) => `${use(WKT, "timestampDate")}(${own})`);
    case "Timestamp.fromDate": {
      const made = `${use(WKT, "timestampFromDate")}(${given()})`;
      return isStatic(method) ? made : `Object.assign(${migration.print(target)}, ${made})`;
    }
    case "Any.getTypeName":
      return read((own) => `${own}.typeUrl.slice(${own}.typeUrl.lastIndexOf("/") + 1)`);
    case "Any.unpack": {
      const message = first && readMessage(first, migration);
      // A message of another type is null there.
      return (
        message && read((own) => `(${use(WKT, "anyUnpack")}(${own}, ${schemaOf(message, node, migration)}) ?? null)`)
      );
    }
    // A field of the type Struct is an object of JSON.
    case "Struct.toJavaScript":
      return migration.print(target);
    case "Struct.fromJavaScript":
      return `(${given()}${migration.typed(` as ${use(PROTOBUF, "JsonObject")}`)})`;
    case "Value.toJavaScript":
    case "ListValue.toList":
      return read((own) => `${use(PROTOBUF, "toJson")}(${schemaOf(of, node, migration)}, ${own})`);
    case "Value.fromJavaScript":
    case "ListValue.fromList":
      return `${use(PROTOBUF, "fromJson")}(${schemaOf(of, node, migration)}, ${json()})`;
  }
  return undefined;
};

function isStatic(method: ts.Declaration | undefined): boolean {
  return method !== undefined && (ts.getCombinedModifierFlags(method) & ts.ModifierFlags.Static) !== 0;
}

/** The message that `Order.deserializeBinary` reads. */
function readMessage(node: ts.Expression, migration: Migration): Generated | undefined {
  return ts.isPropertyAccessExpression(node) ? generatedOf(node.expression, migration) : undefined;
}
