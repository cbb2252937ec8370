/** Errors of Connect for ECMAScript, and functions whose arguments differ. */
import { ts } from "ts-morph";
import type { Migration, Rule } from "./migration.ts";
import { isNothing } from "./tree.ts";

const MAIN = "triple-es";

/** `new ConnectError(message, code, metadata, details, cause)`, also of subclasses that inherit it, and `super(…)` in them. */
const newError: Rule = (node, migration) => {
  const isNew = ts.isNewExpression(node);
  if (!isNew && !(ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.SuperKeyword)) return undefined;
  const inherited = migration.checker.getResolvedSignature(node)?.declaration;
  if (!inherited || migration.nameOf((inherited.parent as ts.ClassDeclaration).name) !== "ConnectError")
    return undefined;
  if (node.arguments?.some(ts.isSpreadElement)) {
    migration.leave(node, "the arguments of an error are its code, message and options");
    return undefined;
  }
  const [message, code, metadata, details, cause] = (node.arguments ?? []).map((one) =>
    isNothing(one) ? undefined : one,
  );
  const print = (one: ts.Expression | undefined): string | undefined => one && migration.print(one);
  const options = [
    ["trailers", print(metadata)],
    ["details", details && detailsOf(details, migration)],
    ["cause", print(cause)],
  ]
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => (name === value ? name : `${name}: ${value}`));
  const target = `${isNew ? "new " : ""}${migration.print(node.expression)}`;
  const unknown = (): string => `${migration.imports.use(MAIN, "Code", node)}.Unknown`;
  const given = [
    code === undefined
      ? unknown()
      : isOptional(code, migration)
        ? `${whole(code, migration)} ?? ${unknown()}`
        : migration.print(code),
    print(message) ?? '""',
    ...(options.length > 0 ? [`{ ${options.join(", ")} }`] : []),
  ];
  return `${target}(${given.join(", ")})`;
};

function whole(node: ts.Expression, migration: Migration): string {
  return ts.isLeftHandSideExpression(node) ? migration.print(node) : `(${migration.print(node)})`;
}

/** `this.name = "ShopError"` in a subclass: the name of an `RpcError` is readonly. */
const ownName: Rule = (node, migration) => {
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.EqualsToken) return undefined;
  const { left, right } = node;
  if (!ts.isPropertyAccessExpression(left) || migration.nameOf(left) !== "ConnectError.name") return undefined;
  return `Object.assign(${migration.print(left.expression)}, { name: ${migration.print(right)} })`;
};

/** A number where a `Code` is expected, which is an enum in Connect. */
const codeNumber: Rule = (node, migration) => {
  if (!ts.isExpression(node) || !(ts.isCallExpression(node.parent) || ts.isNewExpression(node.parent)))
    return undefined;
  const { checker } = migration;
  const isNumber = checker.getTypeAtLocation(node).flags & ts.TypeFlags.Number;
  const expected = isNumber ? checker.getContextualType(node) : undefined;
  if (expected === undefined || migration.oldName(expected) !== "Code") return undefined;
  const code = migration.typed(` as ${migration.imports.use(MAIN, "Code", node)}`);
  return code === "" ? undefined : `(${migration.children(node)}${code})`;
};

function isOptional(node: ts.Expression, { checker }: Migration): boolean {
  const type = checker.getTypeAtLocation(node);
  return checker.getNonNullableType(type) !== type;
}

/** `createContextKey(value, { description })` and `createValidateInterceptor()`. */
const create: Rule = (node, migration) => {
  if (!ts.isCallExpression(node)) return undefined;
  const name = migration.nameOf(node.expression);
  if (name === "createValidateInterceptor") {
    const validation = migration.imports.use("triple-es/validate", "createValidation", node);
    return `${validation}(${migration.imports.use("@bufbuild/protovalidate", "createValidator", node)}())`;
  }
  const [value, options] = node.arguments;
  if (name !== "createContextKey" || !value || !options || !ts.isObjectLiteralExpression(options)) return undefined;
  const [description] = options.properties;
  const text =
    description && ts.isPropertyAssignment(description) ? `, ${migration.print(description.initializer)}` : "";
  const types = node.typeArguments?.map((one) => migration.print(one)).join(", ");
  const key = migration.print(node.expression) + (types === undefined ? "" : `<${types}>`);
  return `${key}(${migration.print(value)}${text})`;
};

/** The details of an error: `{ desc, value }`. */
function detailsOf(node: ts.Expression, migration: Migration): string {
  if (!ts.isArrayLiteralExpression(node)) {
    const element = migration.checker.getTypeAtLocation(node).getNumberIndexType();
    if (element?.getProperty("desc") && element.getProperty("value"))
      return `${whole(node, migration)}.map((one) => ${migration.imports.use(MAIN, "createDetail", node)}(one.desc, one.value))`;
    migration.leave(node, "details are created by createDetail(Schema, value)");
    return migration.print(node);
  }
  const details = node.elements.map((one) => {
    const [desc, value] = ["desc", "value"].map((name) =>
      ts.isObjectLiteralExpression(one) ? one.properties.find((other) => other.name?.getText() === name) : undefined,
    );
    if (!desc || !value) return migration.print(one);
    const print = (of: ts.ObjectLiteralElementLike): string =>
      migration.print(ts.isPropertyAssignment(of) ? of.initializer : (of.name as ts.Node));
    return `${migration.imports.use(MAIN, "createDetail", node)}(${print(desc)}, ${print(value)})`;
  });
  return `[${details.join(", ")}]`;
}

/** Members of errors: `error.findDetails(Schema)`, `error.metadata`, and `Code[error.code]`. */
const errorMember: Rule = (node, migration) => {
  if (ts.isElementAccessExpression(node) && migration.nameOf(node.expression) === "Code") {
    migration.todo(node, "codeName returns not_found, where Code[code] was NotFound");
    return `${migration.imports.use(MAIN, "codeName", node)}(${migration.print(node.argumentExpression)})`;
  }
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
    const { expression, name } = node.expression;
    if (migration.nameOf(name) === "ConnectError.findDetails")
      return `${migration.imports.use(MAIN, "findDetails", node)}(${[expression, ...node.arguments].map((one) => migration.print(one)).join(", ")})`;
    if (
      name.text === "get" &&
      ts.isPropertyAccessExpression(expression) &&
      migration.nameOf(expression) === "ConnectError.metadata"
    ) {
      const error = migration.print(expression.expression);
      const field = node.arguments.map((one) => migration.print(one)).join(", ");
      return `(${error}.headers.get(${field}) ?? ${error}.trailers.get(${field}))`;
    }
  }
  if (!ts.isPropertyAccessExpression(node) || migration.nameOf(node) !== "ConnectError.metadata") return undefined;
  const error = migration.print(node.expression);
  return `new ${migration.imports.use(MAIN, "Metadata", node)}([...${error}.headers, ...${error}.trailers])`;
};

export const connectErrorRules: readonly Rule[] = [newError, codeNumber, ownName, create, errorMember];
