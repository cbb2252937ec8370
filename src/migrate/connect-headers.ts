/** Metadata of Connect, which are `Headers` of the platform, and `Metadata` of triple-es. */
import { ts } from "ts-morph";
import type { Migration, Rule } from "./migration.ts";
import { contains } from "./tree.ts";

/** Members of Connect's types with metadata. */
const FIELDS = ["requestHeader", "responseHeader", "responseTrailer", "header", "trailer", "metadata"];

function isRetyped(node: ts.Node, migration: Migration): boolean {
  const declaration = migration.declared(node);
  return declaration !== undefined && migration.retyped.has(declaration);
}

/** Reports whether the value of an expression becomes `Metadata`. */
export function isMetadata(node: ts.Expression, migration: Migration): boolean {
  if (ts.isPropertyAccessExpression(node))
    return (
      FIELDS.includes(node.name.text) && (migration.nameOf(node.name) !== undefined || isRetyped(node.name, migration))
    );
  if (!ts.isIdentifier(node)) return false;
  const declaration = migration.declared(node);
  if (declaration === undefined) return false;
  if (ts.isVariableDeclaration(declaration))
    return declaration.initializer !== undefined && isMetadata(declaration.initializer, migration);
  if (ts.isBindingElement(declaration)) {
    const name = declaration.propertyName ?? declaration.name;
    return ts.isIdentifier(name) && FIELDS.includes(name.text) && migration.nameOf(name) !== undefined;
  }
  return migration.retyped.has(declaration);
}

function isCallback({ name }: ts.PropertyAssignment | ts.MethodDeclaration): boolean {
  return ["onHeader", "onTrailer"].includes(name.getText());
}

/** Methods of `Headers` that `Metadata` has not. */
const method: Rule = (node, migration) => {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
  const { expression, name } = node.expression;
  if (!["forEach", "entries", "keys", "values"].includes(name.text) || !isMetadata(expression, migration))
    return undefined;
  const fields = `[...${migration.print(expression)}]`;
  if (name.text === "entries") return fields;
  if (name.text !== "forEach")
    return `${fields}.map(([name, value]) => ${name.text === "keys" ? "name" : "value"}).values()`;
  const [callback] = node.arguments;
  if (callback === undefined) return undefined;
  if (!ts.isArrowFunction(callback) || callback.parameters.length > 2)
    return `${fields}.forEach(([name, value]) => (${migration.print(callback)})(value, name))`;
  const [value, key] = callback.parameters.map(({ name }) => name.getText());
  return `${fields}.forEach(([${key ?? ""}, ${value ?? ""}]) => ${migration.print(callback.body)})`;
};

/** `new Headers(request.header)`, whose fields are copied, and `new Headers()` for a parameter that is metadata now. */
const created: Rule = (node, migration) => {
  if (!ts.isNewExpression(node) || node.expression.getText() !== "Headers") return undefined;
  const given = (node.arguments ?? []).map((one) => {
    return isMetadata(one, migration) ? `[...${migration.print(one)}]` : migration.print(one);
  });
  const { parent } = node;
  const isPassed = ts.isVariableDeclaration(parent)
    ? contains(
        migration.file,
        (one) => ts.isIdentifier(one) && isGiven(one, migration) && migration.declared(one) === parent,
      )
    : isGiven(node, migration) || (ts.isPropertyAssignment(parent) && isRetyped(parent.name, migration));
  const name = isPassed ? migration.imports.use("triple-es", "Metadata", node.expression) : "Headers";
  return `new ${name}(${given.join(", ")})`;
};

/** Reports whether an argument is given for a parameter whose type changes. */
function isGiven(node: ts.Expression, { checker, retyped }: Migration): boolean {
  const { parent } = node;
  if (!ts.isCallExpression(parent)) return false;
  const parameter = checker.getResolvedSignature(parent)?.declaration?.parameters[parent.arguments.indexOf(node)];
  return parameter !== undefined && retyped.has(parameter);
}

/** `headers.get(name)` where a text or `null` is expected: a field that is absent is `undefined`. */
const nullable: Rule = (node, migration) => {
  if (!ts.isCallExpression(node) || !isField(node, migration)) return undefined;
  const expected = migration.checker.getContextualType(node);
  const types = expected?.isUnion() ? expected.types : [];
  const has = (flag: ts.TypeFlags): boolean => types.some(({ flags }) => (flags & flag) !== 0);
  if (!has(ts.TypeFlags.Null) || has(ts.TypeFlags.Undefined)) return undefined;
  const isOperand = ts.isBinaryExpression(node.parent) && node.parent.operatorToken.kind !== ts.SyntaxKind.EqualsToken;
  return isOperand ? undefined : `${migration.children(node)} ?? null`;
};

/** A comparison of `headers.get(name)` with `null`, which is `undefined`. */
const absent: Rule = (node, migration) => {
  if (!ts.isBinaryExpression(node) || node.right.kind !== ts.SyntaxKind.NullKeyword) return undefined;
  const operator = node.operatorToken.getText();
  return operator.length === 3 && isField(node.left, migration)
    ? `${migration.print(node.left)} ${operator} undefined`
    : undefined;
};

function isField(node: ts.Expression, migration: Migration): boolean {
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression))
    return node.expression.name.text === "get" && isMetadata(node.expression.expression, migration);
  const value = migration.initializer(node);
  return value !== undefined && isField(value, migration);
}

/** The type of a parameter that metadata is passed to, or of a member with metadata. */
const parameter: Rule = (node, migration) => {
  if (!ts.isTypeReferenceNode(node) || node.getText() !== "Headers") return undefined;
  const { parent } = node;
  const all = ts.isParameter(parent) ? [parent, ...implementedBy(parent, migration)] : [parent];
  return all.some((one) => migration.retyped.has(one))
    ? migration.imports.use("triple-es", "Metadata", node)
    : undefined;
};

/** The parameters of the method signatures that a method of an object literal implements. */
function implementedBy(parameter: ts.ParameterDeclaration, { checker }: Migration): ts.Node[] {
  const method = ts.isMethodDeclaration(parameter.parent) ? parameter.parent : parameter.parent.parent;
  const isMember = ts.isMethodDeclaration(method) || ts.isPropertyAssignment(method);
  if (!isMember || !ts.isObjectLiteralExpression(method.parent)) return [];
  const index = parameter.parent.parameters.indexOf(parameter);
  const property = checker.getContextualType(method.parent)?.getProperty(method.name.getText());
  return (property?.declarations ?? []).flatMap((one) => {
    const type = ts.isPropertySignature(one) ? one.type : one;
    return type && ts.isFunctionLike(type) ? (type.parameters[index] ?? []) : [];
  });
}

/** `header` in a type such as `{ header: Headers }`, which requests are passed as. */
const member: Rule = (node, migration) => {
  if (!ts.isIdentifier(node) || !FIELDS.includes(node.text)) return undefined;
  const { parent } = node;
  if (!ts.isPropertySignature(parent) && !ts.isPropertyAccessExpression(parent) && !ts.isPropertyAssignment(parent))
    return undefined;
  return parent.name === node && isRetyped(node, migration) ? `${node.text}s` : undefined;
};

/** Finds the members for metadata of the types that an argument, a request, is passed as. */
function retypedMembers(call: ts.CallExpression, index: number, migration: Migration): void {
  const { checker, retyped } = migration;
  const node = call.arguments[index] as ts.Expression;
  const given = checker.getTypeAtLocation(node);
  const { initializer } = (migration.declared(call.expression) ?? {}) as { initializer?: ts.Node };
  // A function that may be called in place of that of an option.
  const other = initializer && checker.getTypeAtLocation(initializer).getCallSignatures()[0]?.parameters[index];
  const types = [checker.getContextualType(node), other && checker.getTypeOfSymbol(other)];
  for (const name of ["header", "trailer"]) {
    const [own] = given.getProperty(name)?.declarations ?? [];
    if (!own || !migration.isDeclaredOld(own)) continue;
    for (const one of types.flatMap((type) => type?.getProperty(name)?.declarations ?? []))
      if (ts.isPropertySignature(one) && one.type?.getText() === "Headers" && !one.getSourceFile().isDeclarationFile)
        retyped.add(one);
  }
}

/** Finds the parameters and members of the type `Headers` that metadata is passed to, in any file. */
export function retypedParameters(migration: Migration): void {
  const visit = (node: ts.Node): void => {
    if ((ts.isPropertyAssignment(node) || ts.isMethodDeclaration(node)) && isCallback(node)) {
      const callback = ts.isMethodDeclaration(node) ? node : node.initializer;
      const [header] = ts.isFunctionLike(callback) && migration.nameOf(node.name) ? callback.parameters : [];
      if (header && ts.isParameter(header)) migration.retyped.add(header);
    }
    if (ts.isCallExpression(node)) {
      const declaration = migration.checker.getResolvedSignature(node)?.declaration;
      node.arguments.forEach((one, i) => {
        retypedMembers(node, i, migration);
        const given = declaration?.parameters[i];
        if (given && ts.isParameter(given) && given.type?.getText() === "Headers" && isMetadata(one, migration))
          migration.retyped.add(given);
      });
    }
    node.forEachChild(visit);
  };
  visit(migration.file);
}

/** `createAsyncIterable([request])`. */
const iterable: Rule = (node, migration) => {
  if (!ts.isCallExpression(node) || migration.nameOf(node.expression) !== "createAsyncIterable") return undefined;
  return `(async function* () {\n${migration.indentOf(node)}  yield* ${node.arguments.map((one) => migration.print(one)).join(", ")};\n${migration.indentOf(node)}})()`;
};

export const headerRules: readonly Rule[] = [method, created, nullable, absent, parameter, member, iterable];
