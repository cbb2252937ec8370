/**
 * Checks that names in types are declared. The compiler takes a type with another name for `any`, and leaves out the fields of
 * such a base without a sign in the type.
 */
import { Node } from "ts-morph";
import type { Problems } from "../model/diagnostics.ts";
import { isTypeDeclaration, resolve } from "../read/resolve.ts";
import { isOfLibrary } from "./compiler-types.ts";

/** Types of Node and of pages, which the compiler does not load here, each with a replacement. */
const PLATFORM: Readonly<Record<string, string>> = {
  Blob: "Uint8Array",
  Buffer: "Uint8Array",
  File: "Uint8Array",
  ReadableStream: "AsyncIterable",
  URL: "string",
};

export class DeclaredNames {
  readonly #problems: Problems;
  /** The checked declarations, each with its result, which is true until it is known. */
  readonly #checked = new Map<Node, boolean>();

  constructor(problems: Problems) {
    this.#problems = problems;
  }

  /** Reports names in a node, and in the declarations that it names, that are not declared. Returns true if there are none. */
  check(node: Node): boolean {
    let isWhole = this.#checkName(node);
    node.forEachDescendant((one, traversal) => {
      // Bodies and initial values of classes are not in types.
      if (Node.isBlock(one) || (Node.isExpression(one) && !Node.isExpressionWithTypeArguments(one))) traversal.skip();
      else isWhole = this.#checkName(one) && isWhole;
    });
    return isWhole;
  }

  #checkName(node: Node): boolean {
    const name = nameIn(node);
    if (name === undefined) return true;
    const resolved = resolve(name);
    if (resolved.kind === "declared") {
      const declarations = resolved.declaration.getSymbol()?.getDeclarations().filter(isTypeDeclaration) ?? [];
      return declarations.map((one) => this.#checkDeclaration(one)).every(Boolean);
    }
    const { kind } = resolved;
    const problem =
      kind === "missing" || kind === "circular"
        ? missing(name.getText(), resolved.module, kind === "circular" || resolved.isFound)
        : undeclared(resolved.name);
    this.#problems.error(name, problem);
    return false;
  }

  #checkDeclaration(node: Node): boolean {
    if (node.getSourceFile().isInNodeModules() || isOfLibrary(node)) return true;
    const known = this.#checked.get(node);
    if (known !== undefined) return known;
    this.#checked.set(node, true);
    const isWhole = this.check(node);
    this.#checked.set(node, isWhole);
    return isWhole;
  }
}

/** Returns the name that a node refers to, if it is a type with a name. */
export function nameIn(node: Node): Node | undefined {
  if (Node.isExpressionWithTypeArguments(node)) {
    const base = node.getExpression();
    return Node.isIdentifier(base) || Node.isPropertyAccessExpression(base) ? base : undefined;
  }
  if (!Node.isTypeReference(node)) return undefined;
  const name = node.getTypeName();
  const isMember = Node.isQualifiedName(name) && Node.isEnumMember(name.getSymbol()?.getDeclarations()[0]);
  return isMember ? name.getLeft() : name;
}

function missing(name: string, module: string, isFound: boolean): string {
  if (isFound) return `${module} does not export ${name}`;
  return module.startsWith(".")
    ? `there is no file ${module}`
    : `there is no module ${module}; if it is a path of a tsconfig, name that with --project`;
}

function undeclared(name: string): string {
  const instead = Object.hasOwn(PLATFORM, name) ? PLATFORM[name] : undefined;
  return instead === undefined ? `${name} is not declared` : `${name} has no form in JSON; use ${instead}`;
}
