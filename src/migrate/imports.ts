/** The imports of a migrated file: those that are still used, and new ones. */
import { ts } from "ts-morph";
import { generatorOf } from "./generator.ts";

/** Names that are types, also where the old code has a value. */
const TYPES = [
  "Call",
  "ClosableTransport",
  "HandlerContext",
  "Interceptor",
  "JsonObject",
  "JsonValue",
  "Message",
  "NodeCompression",
  "ServiceDef",
  "Transport",
];

interface Added {
  readonly name: string;
  readonly local: string;
  isValue: boolean;
}

export class FileImports {
  readonly #file: ts.SourceFile;
  readonly #checker: ts.TypeChecker;
  readonly #added = new Map<string, Map<string, Added>>();
  /** The imported names, as declarations, that the printed text still uses. */
  readonly #kept = new Set<ts.Declaration>();
  /** The imported names that the printed text has in another form, because a new import has them. */
  readonly #renamed = new Map<ts.Declaration, string>();
  /** The imported names that the file used before. */
  readonly #used = new Set<ts.Declaration>();
  /** Names that the file declares itself. */
  readonly #declared = new Set<string>();
  /** Those of types. */
  readonly #types = new Set<string>();

  constructor(file: ts.SourceFile, checker: ts.TypeChecker) {
    this.#file = file;
    this.#checker = checker;
    const visit = (node: ts.Node): void => {
      const { name } = node as { name?: ts.Node };
      const isImport = ts.isImportSpecifier(node) || ts.isImportClause(node) || ts.isNamespaceImport(node);
      const isOfScope = ts.isVariableDeclaration(node) || ts.isParameter(node) || ts.isFunctionDeclaration(node);
      if (
        (isOfScope ||
          ts.isClassDeclaration(node) ||
          ts.isInterfaceDeclaration(node) ||
          ts.isTypeAliasDeclaration(node) ||
          ts.isBindingElement(node)) &&
        name &&
        ts.isIdentifier(name)
      )
        this.#declared.add(name.text);
      if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) this.#types.add(node.name.text);
      if (ts.isIdentifier(node) && !isImport) for (const one of this.#importOf(node)) this.#used.add(one);
      if (!ts.isImportDeclaration(node)) node.forEachChild(visit);
    };
    visit(file);
  }

  /** Adds an import, and returns the name to use. Repeated ones, and those that the file has, are imported once. */
  use(module: string, name: string, at: ts.Node): string {
    const isValue = !isOfType(at) && !TYPES.includes(name);
    const own = this.#ownImport(module, name, isValue);
    if (own !== undefined) {
      this.#kept.add(own);
      return own.name.text;
    }
    const names = this.#added.get(module) ?? new Map<string, Added>();
    this.#added.set(module, names);
    const isKept = [...this.#kept].some((one) => localOf(one) === name && moduleOf(one) !== module);
    const isTaken = isKept || this.#declared.has(name) || this.#isAdded(name, module);
    const local = this.#givenName(at) ?? (isTaken ? `triple${name[0]?.toUpperCase()}${name.slice(1)}` : name);
    const added = names.get(name) ?? { name, local, isValue: false };
    if (isValue) added.isValue = true;
    // JavaScript has no types to import.
    if (isValue || !(this.#file.flags & ts.NodeFlags.JavaScriptFile)) names.set(name, added);
    return added.local;
  }

  /** The import of the file that gives a name of a module. */
  #ownImport(module: string, name: string, isValue: boolean): ts.ImportSpecifier | undefined {
    const own = this.#file.statements.filter(ts.isImportDeclaration).filter((one) => moduleOf(one) === module);
    return own.flatMap(bindingsOf).find((one): one is ts.ImportSpecifier => {
      if (!ts.isImportSpecifier(one) || (one.propertyName ?? one.name).text !== name) return false;
      return !isValue || !(one.isTypeOnly || one.parent.parent.isTypeOnly);
    });
  }

  /** The name that an import gives what a node names: `GrpcStatus` of `import { Status as GrpcStatus }`. */
  #givenName(node: ts.Node): string | undefined {
    const name = ts.isTypeReferenceNode(node) ? node.typeName : node;
    const [given] = ts.isIdentifier(name) ? this.#importOf(name) : [];
    return given && ts.isImportSpecifier(given) && given.propertyName ? given.name.text : undefined;
  }

  /** Reports whether a name is one that an import gives: `Shop` of `import { ShopClient as Shop }`. */
  isAlias(name: ts.Identifier): boolean {
    return this.#givenName(name) !== undefined;
  }

  /** Reports whether a new import of another module has a name in the file. */
  #isAdded(name: string, module: string): boolean {
    return [...this.#added].some(
      ([other, of]) => other !== module && [...of.values()].some(({ local }) => local === name),
    );
  }

  /** Remembers that a name stays, and returns its text. */
  keep(node: ts.Identifier): string {
    const text = node.getText();
    const [one] = this.#importOf(node);
    const isType = one !== undefined && this.#isOwnType(one);
    const isDeclared = ts.isTypeAliasDeclaration(node.parent) || ts.isInterfaceDeclaration(node.parent);
    if (one === undefined || (isType && (isDeclared || isOfType(node)))) return text;
    this.#kept.add(one);
    if (!ts.isImportSpecifier(one) || !(isType || this.#isAdded(text, moduleOf(one)))) return text;
    const other = `Other${text}`;
    this.#renamed.set(one, other);
    if (ts.isExportSpecifier(node.parent)) return node.parent.propertyName ? other : `${other} as ${text}`;
    return ts.isShorthandPropertyAssignment(node.parent) ? `${text}: ${other}` : other;
  }

  /** Reports whether a generated value has the name of a type of the file: the enum that replaces it is a type too. */
  #isOwnType(one: ts.Declaration): boolean {
    if (!ts.isImportSpecifier(one) || !this.#types.has(one.name.text)) return false;
    const module = this.#checker.getSymbolAtLocation(one.parent.parent.parent.moduleSpecifier)?.declarations?.[0];
    return module !== undefined && ts.isSourceFile(module) && generatorOf(module) === "google-protobuf";
  }

  /** Returns a name that the file does not declare. */
  free(name: string): string {
    let free = name;
    for (let i = 2; this.#declared.has(free); i++) free = `${name}${i}`;
    return free;
  }

  /** Returns such a name, once. */
  unique(name: string): string {
    const unique = this.free(name);
    this.#declared.add(unique);
    return unique;
  }

  #importOf(node: ts.Identifier): ts.Declaration[] {
    const { parent } = node;
    const symbol = ts.isExportSpecifier(parent)
      ? this.#checker.getExportSpecifierLocalTargetSymbol(parent)
      : ts.isShorthandPropertyAssignment(parent)
        ? this.#checker.getShorthandAssignmentValueSymbol(parent)
        : this.#checker.getSymbolAtLocation(node);
    const isImport = (one: ts.Declaration): boolean =>
      ts.isImportSpecifier(one) || ts.isImportClause(one) || ts.isNamespaceImport(one);
    return (symbol?.declarations ?? []).filter((one) => isImport(one) && one.getSourceFile() === this.#file);
  }

  /** Prints the import declarations that change. New imports stand where the first one did. */
  print(isOld: (one: ts.ImportDeclaration) => boolean): { of: Map<ts.Node, string>; added: string } {
    const of = new Map<ts.Node, string>();
    const declarations = this.#file.statements.filter(ts.isImportDeclaration);
    for (const one of declarations) {
      const module = moduleOf(one);
      const bindings = bindingsOf(one);
      const isUnused = (name: ts.Declaration): boolean =>
        !this.#used.has(name) && !isOld(one) && !this.#isOwnType(name);
      const kept = bindings.filter((name) => this.#kept.has(name) || isUnused(name));
      const named = one.importClause?.namedBindings;
      const own = this.#added.get(module);
      const canAdd = own && named && ts.isNamedImports(named) && !one.importClause?.isTypeOnly;
      if (canAdd) this.#added.delete(module);
      const isChanged = kept.length < bindings.length || canAdd || kept.some((name) => this.#renamed.has(name));
      if (isChanged) of.set(one, printImport(one, kept, canAdd ? [...own.values()] : [], this.#renamed));
    }
    const quote = declarations[0]?.moduleSpecifier.getText()[0] ?? '"';
    const end = declarations.length === 0 || this.#file.text[(declarations[0]?.end as number) - 1] === ";" ? ";" : "";
    const lines = [...this.#added]
      .filter(([, names]) => names.size > 0)
      .sort()
      .map(([module, names]) => {
        const all = [...names.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
        const isType = all.every(({ isValue }) => !isValue);
        const list = all.map((one) => specifier(one, isType)).join(", ");
        return `import ${isType ? "type " : ""}{ ${list} } from ${quote}${module}${quote}${end}`;
      });
    if (lines.length === 0) return { of, added: "" };
    const place = declarations.find((one) => of.has(one)) ?? declarations.at(-1);
    if (place) of.set(place, [...lines, of.get(place) ?? place.getText()].filter((line) => line !== "").join("\n"));
    return { of, added: `${lines.join("\n")}\n` };
  }
}

/** The module of an import, or of a name of it. */
function moduleOf(node: ts.Node): string {
  return ts.isImportDeclaration(node) ? (node.moduleSpecifier as ts.StringLiteral).text : moduleOf(node.parent);
}

function localOf(node: ts.Declaration): string | undefined {
  return (node as ts.ImportSpecifier | ts.ImportClause | ts.NamespaceImport).name?.text;
}

function specifier({ name, local, isValue }: Added, isType: boolean): string {
  return `${isValue || isType ? "" : "type "}${name}${local === name ? "" : ` as ${local}`}`;
}

function bindingsOf({ importClause }: ts.ImportDeclaration): ts.Declaration[] {
  if (importClause === undefined) return [];
  const { name, namedBindings } = importClause;
  const named = namedBindings && (ts.isNamedImports(namedBindings) ? [...namedBindings.elements] : [namedBindings]);
  return [...(name ? [importClause] : []), ...(named ?? [])];
}

function printImport(
  one: ts.ImportDeclaration,
  kept: readonly ts.Declaration[],
  added: readonly Added[],
  renamed: ReadonlyMap<ts.Declaration, string>,
): string {
  const clause = one.importClause as ts.ImportClause;
  const named = clause.namedBindings;
  const names = [
    ...kept
      .filter(ts.isImportSpecifier)
      .map((name) =>
        renamed.has(name) ? `${(name.propertyName ?? name.name).text} as ${renamed.get(name)}` : name.getText(),
      ),
    ...added
      .filter(({ name }) => !kept.some((other) => ts.isImportSpecifier(other) && other.name.text === name))
      .map((name) => specifier(name, false)),
  ];
  const parts = [
    kept.includes(clause) ? (clause.name as ts.Identifier).text : "",
    named && kept.includes(named as ts.NamespaceImport) ? named.getText() : "",
    names.length > 0 ? `{ ${names.join(", ")} }` : "",
  ].filter((part) => part !== "");
  if (parts.length === 0) return "";
  const text = one.getText();
  return `import ${clause.isTypeOnly ? "type " : ""}${parts.join(", ")} from ${text.slice(one.moduleSpecifier.getStart() - one.getStart())}`;
}

/** Reports whether a name stands where only its type is used. */
function isOfType(node: ts.Node): boolean {
  for (let one = node; one !== undefined && !ts.isStatement(one); one = one.parent) {
    if (ts.isHeritageClause(one))
      return one.token === ts.SyntaxKind.ImplementsKeyword || ts.isInterfaceDeclaration(one.parent);
    if (ts.isTypeNode(one) && !ts.isExpressionWithTypeArguments(one)) return true;
    if (ts.isTypeParameterDeclaration(one)) return true;
    if (
      ts.isExpression(one) &&
      !ts.isIdentifier(one) &&
      !ts.isPropertyAccessExpression(one) &&
      !ts.isExpressionWithTypeArguments(one)
    )
      return false;
  }
  return false;
}
