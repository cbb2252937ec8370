/** The origin of names: the package that declares them, found by the type checker through aliases and re-exports. */
import { ts } from "ts-morph";

export interface Origin {
  /** The package, such as `@connectrpc/connect`. */
  readonly from: string;
  /** The name of the export, or of a type and its member, such as `HandlerContext.signal`. */
  readonly name: string;
  /** The types that declare a member: more than one for a member of a union. */
  readonly types: readonly string[];
}

export class Origins {
  readonly #checker: ts.TypeChecker;
  readonly #packages: readonly string[];

  constructor(checker: ts.TypeChecker, packages: readonly string[]) {
    this.#checker = checker;
    this.#packages = packages;
  }

  /** Returns the origin of a name in one of the packages. */
  of(node: ts.Node): Origin | undefined {
    const declarations = this.#symbol(node)?.declarations ?? [];
    const declaration = declarations[0];
    const from = declaration && declaredIn(declaration, this.#packages);
    if (declaration === undefined || from === undefined) return undefined;
    const types = declarations.flatMap((one) => typeOf(one) ?? []);
    const { name } = declaration as { name?: ts.Node };
    const own = name && (ts.isIdentifier(name) || ts.isStringLiteral(name)) ? name.text : "";
    return { from, name: types[0] === undefined ? own : `${types[0]}.${own}`, types };
  }

  declaration(node: ts.Node): ts.Declaration | undefined {
    return this.#symbol(node)?.declarations?.[0];
  }

  #symbol(node: ts.Node): ts.Symbol | undefined {
    const symbol = this.#named(node);
    return symbol && symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol;
  }

  #named(node: ts.Node): ts.Symbol | undefined {
    const { parent } = node;
    if (ts.isPropertyAccessExpression(node)) return this.#checker.getSymbolAtLocation(node.name);
    if (ts.isQualifiedName(node)) return this.#checker.getSymbolAtLocation(node.right);
    if (!ts.isIdentifier(node)) return undefined;
    if (ts.isPropertyAssignment(parent) && parent.name === node) return this.#expected(parent.parent, node.text);
    if (ts.isMethodDeclaration(parent) && parent.name === node && ts.isObjectLiteralExpression(parent.parent))
      return this.#expected(parent.parent, node.text);
    if (ts.isBindingElement(parent) && (parent.propertyName ?? parent.name) === node)
      return this.#checker.getTypeAtLocation(parent.parent).getProperty(node.text);
    if (ts.isShorthandPropertyAssignment(parent)) return this.#checker.getShorthandAssignmentValueSymbol(parent);
    return this.#checker.getSymbolAtLocation(node);
  }

  /** The member that an object literal gives, in the type that is expected of it or that it spreads. */
  #expected(literal: ts.ObjectLiteralExpression, name: string): ts.Symbol | undefined {
    const spread = literal.properties.find(ts.isSpreadAssignment);
    const types = [
      spread && this.#checker.getTypeAtLocation(spread.expression),
      this.#checker.getContextualType(literal),
    ];
    // A value may be one of several types, such as the options of a plugin, or a function that returns them.
    const all = [...types.filter((type) => !type?.isUnion()), ...types].flatMap((type) =>
      type?.isUnion() ? [type.getNonNullableType(), ...type.types] : (type ?? []),
    );
    return all.map((type) => type.getProperty(name)).find((one) => one !== undefined);
  }

  /** The member that a shorthand property gives. */
  shorthand(node: ts.ShorthandPropertyAssignment): string | undefined {
    const declaration = this.#expected(node.parent, node.name.text)?.declarations?.[0];
    return declaration && declaredIn(declaration, this.#packages) && `${typeOf(declaration) ?? ""}.${node.name.text}`;
  }
}

/** Returns which of the packages declares something. */
export function declaredIn(declaration: ts.Node, packages: readonly string[]): string | undefined {
  const { fileName } = declaration.getSourceFile();
  const start = fileName.lastIndexOf("/node_modules/");
  if (start < 0) return undefined;
  const path = fileName.slice(start + "/node_modules/".length);
  return packages.find((one) => path.startsWith(`${one}/`));
}

/** The name of the type that declares a member; an empty one for a type without a name. */
function typeOf({ parent }: ts.Node): string | undefined {
  if (parent === undefined) return undefined;
  if (ts.isInterfaceDeclaration(parent) || ts.isClassDeclaration(parent) || ts.isEnumDeclaration(parent))
    return parent.name?.text;
  if (!ts.isTypeLiteralNode(parent)) return undefined;
  let outer: ts.Node = parent;
  while (!ts.isTypeAliasDeclaration(outer) && !ts.isStatement(outer)) outer = outer.parent;
  return ts.isTypeAliasDeclaration(outer) ? outer.name.text : "";
}
