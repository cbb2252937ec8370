/** A kind of project to migrate from: tables of its names, and rules for what is more than a name. */
import { ts } from "ts-morph";
import { isWithin, type Kind, type Migration, type Rule } from "./migration.ts";

export interface Tables extends Omit<Kind, "rewrite"> {
  /**
   * Exports of the packages: the module and the name that replace them. A key may begin with a package and a colon. A
   * text that begins with `!` says what to do with a name that stays.
   */
  readonly names: Readonly<Record<string, string>>;
  /**
   * Members: by their type and name (`*` for any), or by their name alone. A name, `=`, `!`, or `-` for properties to omit,
   * with a comment about what replaces them if a text follows.
   */
  readonly members: Readonly<Record<string, string>>;
  /** Members whose names stay. */
  readonly same: string;
  readonly rules: readonly Rule[];
}

export function createKind(tables: Tables): Kind {
  const same = new Set(tables.same.split(" "));
  const rules = [...tables.rules, oldExport, oldName, assigned, tested, oldMember, oldModule];
  return {
    ...tables,
    rewrite: (node, migration) => {
      for (const rule of rules) {
        const text = rule(node, migration);
        if (text !== undefined) return text;
      }
      return undefined;
    },
  };

  function newName(from: string, name: string): string | undefined {
    return tables.names[`${from}:${name}`] ?? tables.names[name];
  }

  /** `export { Code } from "@connectrpc/connect"`, whose names are exported from the new modules. */
  function oldExport(node: ts.Node, migration: Migration): string | undefined {
    if (!ts.isExportDeclaration(node) || !node.moduleSpecifier || !migration.isOld(node.moduleSpecifier))
      return undefined;
    const { exportClause } = node;
    if (!exportClause || !ts.isNamedExports(exportClause)) return unknown(node, migration);
    const modules = new Map<string, string[]>();
    for (const one of exportClause.elements) {
      const origin = migration.origin(one.name);
      if (newName(origin?.from ?? "", origin?.name ?? "") === "-") continue;
      const [module = "", name = ""] = newName(origin?.from ?? "", origin?.name ?? "")?.split(" ") ?? [];
      if (module.startsWith("!") || name === "") return unknown(node, migration);
      const alias = name === one.name.text ? name : `${name} as ${one.name.text}`;
      modules.set(module, [...(modules.get(module) ?? []), one.isTypeOnly ? `type ${alias}` : alias]);
    }
    const type = node.isTypeOnly ? "type " : "";
    const lines = [...modules].map(([module, names]) => `export ${type}{ ${names.join(", ")} } from "${module}";`);
    return lines.join("\n");
  }

  function unknown(node: ts.Node, migration: Migration): string {
    migration.leave(node, "exports names of an old package");
    return migration.text(node);
  }

  /** A name of the old package, alone or in a namespace. */
  function oldName(node: ts.Node, migration: Migration): string | undefined {
    const isName = ts.isIdentifier(node) && !isMemberName(node);
    if (!isName && !ts.isPropertyAccessExpression(node) && !ts.isQualifiedName(node)) return undefined;
    const origin = migration.origin(node);
    if (origin === undefined || origin.types.length > 0 || origin.name === "") return undefined;
    const found = newName(origin.from, origin.name);
    if (found === undefined || found.startsWith("!")) {
      migration.leave(node, `${origin.name} of ${origin.from} ${found?.slice(1) || "has no counterpart"}`);
      return undefined;
    }
    const [module = "", name = ""] = found.split(" ");
    const local = migration.imports.use(module, name, node);
    return ts.isShorthandPropertyAssignment(node.parent) ? `${node.getText()}: ${local}` : local;
  }

  /** `options.headers = headers`: the members of options are readonly. */
  function assigned(node: ts.Node, migration: Migration): string | undefined {
    if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.EqualsToken) return undefined;
    const { left, right } = node;
    if (!ts.isPropertyAccessExpression(left) || !migration.nameOf(left)?.startsWith("CallOptions.")) return undefined;
    const name = oldMember(left.name, migration) ?? left.name.text;
    return `Object.assign(${migration.print(left.expression)}, { ${name}: ${migration.print(right)} })`;
  }

  /** `"metadata" in error`, the name of such a member in a string. */
  function tested(node: ts.Node, migration: Migration): string | undefined {
    if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.InKeyword) return undefined;
    if (!ts.isStringLiteral(node.left)) return undefined;
    const { text } = node.left;
    const type = migration.checker.getTypeAtLocation(node.right);
    const of = (type.isUnion() ? type.types : [type]).map((one) => migration.oldName(one)).find(Boolean);
    const found = of && renamed(node, `${of}.${text}`, text, migration);
    return found && `"${found}" in ${migration.print(node.right)}`;
  }

  /** A member of a type of the old package, where it is read, given or destructured. */
  function oldMember(node: ts.Node, migration: Migration): string | undefined {
    if (ts.isShorthandPropertyAssignment(node) || ts.isPropertyAssignment(node)) {
      const isShorthand = ts.isShorthandPropertyAssignment(node);
      const name = isShorthand ? migration.shorthand(node) : migration.nameOf(node.name);
      const own = node.name.getText();
      const omitted = name === undefined ? undefined : member(name, own);
      if (omitted?.startsWith("-")) {
        if (omitted !== "-") migration.todo(node, `${name} ${omitted.slice(1)}`);
        return "";
      }
      const found = isShorthand && name !== undefined ? renamed(node, name, own, migration) : undefined;
      return found && `${found}: ${migration.print(node.name)}`;
    }
    if (!ts.isIdentifier(node) || !isMemberName(node)) return undefined;
    const origin = migration.origin(node);
    if (origin === undefined || origin.types.length === 0) return undefined;
    const found = renamed(node, origin.name, node.text, migration);
    const { parent } = node;
    return found && ts.isBindingElement(parent) && parent.propertyName === undefined ? `${found}: ${node.text}` : found;
  }

  /** Returns the other name of a member. Lists one that has none. */
  function renamed(node: ts.Node, name: string, own: string, migration: Migration): string | undefined {
    const found = member(name, own);
    const isNone = found === undefined || found.startsWith("!") || found.startsWith("-");
    if (isNone) migration.leave(node, `${name} ${found?.slice(1) || "has no counterpart"}`);
    return isNone || found === own ? undefined : found;
  }

  function member(name: string, own: string): string | undefined {
    const ofType = tables.members[name] ?? tables.members[name.replace(own, "*")];
    return ofType === "=" ? own : (ofType ?? tables.members[`.${own}`] ?? (same.has(own) ? own : undefined));
  }
}

function isMemberName(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.name === node;
  if (ts.isQualifiedName(parent)) return parent.right === node;
  if (ts.isBindingElement(parent))
    return (parent.propertyName ?? parent.name) === node && ts.isObjectBindingPattern(parent.parent);
  return (ts.isPropertyAssignment(parent) || ts.isMethodDeclaration(parent)) && parent.name === node;
}

/** The name of an old package in a string, such as that of a mock. */
function oldModule(node: ts.Node, migration: Migration): string | undefined {
  if (!ts.isStringLiteral(node) || ts.isExportDeclaration(node.parent)) return undefined;
  const name = migration.kind.packages.find((one) => isWithin(node.text, one));
  if (name !== undefined) migration.leave(node, `${name} is named in a string`);
  return undefined;
}
