/** Clients of grpc-js, with their channels and credentials, as clients on transports. */
import { ts } from "ts-morph";
import { generatedOf, useGenerated } from "./generated.ts";
import { continued } from "./grpc-calls.ts";
import { serviceOf, transportOptions } from "./grpc-names.ts";
import type { Migration, Rule } from "./migration.ts";
import { contains } from "./tree.ts";

const MAIN = "triple-es";
const NODE = "triple-es/node";

/** `new GreeterClient(address, credentials, options)`. */
const client: Rule = (node, migration) => {
  const made = ts.isNewExpression(node) ? clientOf(node, migration) : undefined;
  if (!made || !ts.isNewExpression(node)) return undefined;
  const create = useGenerated(`create${made.name}Client`, "triple", made.of, node, migration);
  const transport = `${migration.imports.use(NODE, "createTransport", node)}(${transportOptions(node.arguments ?? [], migration)})`;
  const owner = ownerOf(node, migration);
  if (!owner || !isClosed(owner, migration)) return `${create}(${transport})`;
  if (ts.isPropertyDeclaration(owner)) return `${create}((this.${owner.name.getText()}Transport = ${transport}))`;
  const own = migration.imports.unique("transport");
  transports.set(owner, own);
  migration.insertBefore(node, `const ${own} = ${transport};`);
  return `${create}(${own})`;
};

function clientOf(node: ts.NewExpression, migration: Migration) {
  const of = generatedOf(node.expression, migration);
  const name = of && serviceOf(of.name, "Client");
  return of && name && of.by !== "google-protobuf" ? { of, name } : undefined;
}

/** The variable or field that a new client becomes the value of. */
function ownerOf({ parent }: ts.NewExpression, migration: Migration) {
  if (ts.isVariableDeclaration(parent) || ts.isPropertyDeclaration(parent)) return parent;
  const field = ts.isBinaryExpression(parent) ? migration.declared(parent.left) : undefined;
  return field && ts.isPropertyDeclaration(field) && field.getSourceFile() === migration.file ? field : undefined;
}

/** The variables of transports, by those of their clients. */
const transports = new WeakMap<ts.Node, string>();

function isClosed(owner: ts.Node, migration: Migration): boolean {
  return contains(migration.file, (node) => {
    const isClose = ts.isPropertyAccessExpression(node) && node.name.text === "close";
    return isClose && migration.declared(node.expression) === owner;
  });
}

/** A field of a client that is closed, beside which its transport has one. */
const field: Rule = (node, migration) => {
  if (!ts.isPropertyDeclaration(node) || !isClosedField(node, migration)) return undefined;
  const type = migration.typed(`?: ${migration.imports.use(MAIN, "ClosableTransport", node.type ?? node)}`);
  const name = `${node.name.getText()}Transport`;
  return `${migration.typed("private ")}${name}${type};\n${migration.indentOf(node)}${migration.children(node)}`;
};

function isClosedField(owner: ts.Node, migration: Migration): owner is ts.PropertyDeclaration {
  const isMade = (node: ts.Node): boolean =>
    ts.isNewExpression(node) && ownerOf(node, migration) === owner && clientOf(node, migration) !== undefined;
  return ts.isPropertyDeclaration(owner) && contains(migration.file, isMade) && isClosed(owner, migration);
}

const close: Rule = (node, migration) => {
  if (
    !ts.isCallExpression(node) ||
    !ts.isPropertyAccessExpression(node.expression) ||
    node.expression.name.text !== "close"
  )
    return undefined;
  const owner = migration.declared(node.expression.expression);
  const start = ts.isExpressionStatement(node.parent) ? "void " : "";
  if (owner && isClosedField(owner, migration)) {
    const of = (node.expression.expression as ts.PropertyAccessExpression).expression;
    return `${start}${migration.print(of)}.${owner.name.getText()}Transport?.close()`;
  }
  const transport = owner && transports.get(owner);
  return transport && `${start}${transport}.close()`;
};

/** `client.waitForReady(deadline, callback)`: calls wait instead. */
const ready: Rule = (node, migration) => {
  if (!ts.isCallExpression(node) || migration.nameOf(node.expression) !== "Client.waitForReady") return undefined;
  migration.todo(node, "nothing waits for the server: a call does, with the option waitForReady");
  const [, callback] = node.arguments;
  return callback && continued("Promise.resolve()", callback, migration, "");
};

/** `GreeterClient.prototype`, whose methods tests replace: clients have no class. */
const prototype: Rule = (node, migration) => {
  if (!ts.isPropertyAccessExpression(node) || node.name.text !== "prototype") return undefined;
  const of = generatedOf(node.expression, migration);
  const name = of && of.by !== "google-protobuf" ? serviceOf(of.name, "Client") : undefined;
  if (!of || !name) return undefined;
  migration.todo(node, "a client has no prototype: replace methods of the client itself");
  const as = migration.typed(" as ");
  return `({}${as && as + useGenerated(`${name}Client`, "triple", of, node.expression, migration)})`;
};

/** A variable of credentials, which are options of the transports and servers that they are passed to. */
const credentials: Rule = (node, migration) => {
  if (!ts.isVariableStatement(node) || node.modifiers || node.declarationList.declarations.length !== 1)
    return undefined;
  const [declaration] = node.declarationList.declarations;
  const type = declaration?.initializer && migration.typeName(declaration.initializer);
  if (!type?.endsWith("Credentials") || type === "CallCredentials") return undefined;
  const isOther = (one: ts.Node): boolean =>
    ts.isIdentifier(one) &&
    one.parent !== declaration &&
    migration.declared(one) === declaration &&
    !(ts.isNewExpression(one.parent) && clientOf(one.parent, migration)) &&
    !(ts.isCallExpression(one.parent) && migration.nameOf(one.parent.expression) === "Server.bindAsync");
  return contains(migration.file, isOther) ? undefined : "";
};

export const clientRules: readonly Rule[] = [client, field, close, ready, prototype, credentials];
