/**
 * The migration of one source file: its text is printed again, with the nodes replaced for which a rule returns text. All
 * other text, comments included, stays.
 */
import { ts } from "ts-morph";
import { generatorOf } from "./generator.ts";
import { FileImports } from "./imports.ts";
import { declaredIn, type Origin, Origins } from "./origin.ts";
import type { ProtoFiles } from "./proto-files.ts";
import { hasStatements, statementOf } from "./tree.ts";

/** Returns the text of a node that is replaced; `undefined` for another node. */
export type Rule = (node: ts.Node, migration: Migration) => string | undefined;

export interface Kind {
  /** The packages that the project uses no more. */
  readonly packages: readonly string[];
  readonly rewrite: Rule;
  /** Packages, names that they export, and classes (`extends CallCredentials`), whose files are left whole, with what to do. */
  readonly unsupported: Readonly<Record<string, string>>;
  /** The reason why a node has no counterpart, so that its file is left whole. */
  readonly whyWhole?: (node: ts.Node, checker: ts.TypeChecker, origins: Origins) => Whole | undefined;
  /** The section of docs/migration.md. */
  readonly section: string;
  /** Packages that generated the code of the project. */
  readonly tools: readonly string[];
  /** Plugins in buf.gen.yaml that are replaced. */
  readonly plugins: readonly string[];
  /** Collects what rules must know of all files before the first one is printed. */
  readonly prepare?: (migration: Migration) => void;
}

/** The reason why a file is left whole. */
export interface Whole {
  readonly message: string;
  /** True if files which share clients, servers and messages with the file are left with it. */
  readonly isShared: boolean;
}

/** A place that a developer must look at. */
export interface Left {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

export class Migration {
  readonly file: ts.SourceFile;
  readonly checker: ts.TypeChecker;
  readonly kind: Kind;
  readonly left: Left[] = [];
  readonly imports: FileImports;
  readonly #origins: Origins;
  readonly #source: string;
  /** Statements to insert before a statement of the file. */
  readonly #before = new Map<ts.Node, string[]>();

  /** Parameters, in all files, whose type changes. */
  readonly retyped: Set<ts.Node>;
  /** Options, in all files, that are given elsewhere. */
  readonly moved: Set<ts.Node>;
  /** The .proto files of the project. */
  readonly protos: ProtoFiles;
  /** Statements that other ones replace. */
  readonly dropped = new Set<ts.Node>();

  constructor(
    file: ts.SourceFile,
    checker: ts.TypeChecker,
    kind: Kind,
    { retyped, moved, protos }: Pick<Migration, "retyped" | "moved" | "protos">,
  ) {
    this.protos = protos;
    this.retyped = retyped;
    this.moved = moved;
    this.file = file;
    this.checker = checker;
    this.kind = kind;
    this.#source = file.text;
    this.#origins = new Origins(checker, kind.packages);
    this.imports = new FileImports(file, checker);
  }

  /** Returns the text of the migrated file. */
  run(): string {
    const statements = this.file.statements.filter((one) => !ts.isImportDeclaration(one));
    const printed = new Map(statements.map((one) => [one as ts.Node, this.print(one)]));
    const imports = this.imports.print((one) => this.isOld(one.moduleSpecifier) || this.#isGone(one));
    let [text, end] = ["", 0];
    if (!this.file.statements.some(ts.isImportDeclaration)) {
      // New imports of a file without any: after a directive such as "use client".
      end = this.file.statements[0]?.getStart() ?? 0;
      text = this.#source.slice(0, end) + imports.added;
    }
    for (const statement of this.file.statements) {
      const replaced = printed.get(statement) ?? imports.of.get(statement) ?? statement.getText();
      const before = this.#source.slice(end, statement.getStart());
      const isImport = ts.isImportDeclaration(statement);
      text += replaced === "" && !isImport && before.trim() === "" ? "" : before + replaced;
      end = statement.end;
      // The line of an import that is dropped.
      const [line] =
        replaced === "" && isImport ? ["\r\n", "\n"].filter((one) => this.#source.startsWith(one, end)) : [];
      end += line?.length ?? 0;
    }
    text += this.#source.slice(end);
    const isChanged = text !== this.#source && this.#source.includes("\r\n");
    return isChanged ? text.replaceAll("\r\n", "\n").replaceAll("\n", "\r\n") : text;
  }

  /** Reports whether an import is that of a generated module which another one replaces. */
  #isGone({ moduleSpecifier }: ts.ImportDeclaration): boolean {
    const file = this.fileOf(moduleSpecifier);
    return ["ts-proto", "grpc-tools"].includes((file && generatorOf(file)) ?? "");
  }

  /** Prints a node with its replacements, without the comments before it. */
  print(node: ts.Node): string {
    if (this.dropped.has(node)) return "";
    const replaced = this.kind.rewrite(node, this) ?? this.children(node);
    // A statement that is all that a condition guards needs another one in its place.
    const text = replaced === "" && ts.isStatement(node) && !hasStatements(node.parent) ? "{}" : replaced;
    const before = this.#before.get(node);
    if (before === undefined) return text;
    const indent = this.indentOf(node);
    return [...before, text].join(`\n${indent}`);
  }

  /** Prints a node whose own text stays, and only its children are replaced. */
  children(node: ts.Node): string {
    if (ts.isIdentifier(node)) return this.imports.keep(node);
    if (ts.isObjectLiteralExpression(node)) return this.#members(node);
    return this.#between(node, (child) => this.print(child));
  }

  #between(node: ts.Node, print: (child: ts.Node) => string): string {
    const children: ts.Node[] = [];
    node.forEachChild((child) => void children.push(child));
    let [text, end] = ["", node.getStart()];
    for (const child of children.sort((a, b) => a.pos - b.pos)) {
      const before = this.#source.slice(end, child.getStart());
      const printed = print(child);
      // A statement that is dropped takes its line along; blank text between elements of JSX is not dropped.
      text += printed === "" && before.trim() === "" && !ts.isJsxText(child) ? "" : before + printed;
      end = child.end;
    }
    return text + this.#source.slice(end, node.end);
  }

  /** Prints an object literal, without the properties that are replaced by nothing. */
  #members(node: ts.ObjectLiteralExpression): string {
    const members = node.properties.map((one) => [one, this.print(one)] as const);
    if (members.every(([, text]) => text !== "")) {
      let [text, end] = ["", node.getStart()];
      for (const [member, printed] of members) {
        text += this.#source.slice(end, member.getStart()) + printed;
        end = member.end;
      }
      return text + this.#source.slice(end, node.end);
    }
    const kept = members.filter(([, text]) => text !== "");
    if (kept.length === 0) return "{}";
    const texts = kept.map(([member, text]) => this.#source.slice(member.pos, member.getStart()) + text);
    const tail = this.#source.slice(members.at(-1)?.[0].end, node.end);
    return `{${texts.join(",")}${tail}`;
  }

  /** The file that a module specifier names. */
  fileOf(specifier: ts.Node): ts.SourceFile | undefined {
    const file = this.checker.getSymbolAtLocation(specifier)?.declarations?.[0];
    return file && ts.isSourceFile(file) ? file : undefined;
  }

  /** Prints a node as it is, with the imports that it needs. */
  verbatim(node: ts.Node): string {
    return ts.isIdentifier(node) ? this.imports.keep(node) : this.#between(node, (child) => this.verbatim(child));
  }

  /** The text of a type in TypeScript, and nothing in JavaScript. */
  typed(text: string): string {
    return this.file.flags & ts.NodeFlags.JavaScriptFile ? "" : text;
  }

  /** The text of a node, unchanged. */
  text(node: ts.Node): string {
    return this.#source.slice(node.getStart(), node.end);
  }

  indentOf(node: ts.Node): string {
    const line = this.#source.slice(this.#source.lastIndexOf("\n", node.getStart() - 1) + 1, node.getStart());
    return line.slice(0, line.length - line.trimStart().length);
  }

  /** The export of an old package that a node names, also through aliases and re-exports. */
  origin(node: ts.Node | undefined): Origin | undefined {
    return node && this.#origins.of(node);
  }

  /** The name of an export of an old package, such as `createClient`, or of its member, such as `HandlerContext.signal`. */
  nameOf(node: ts.Node | undefined): string | undefined {
    return this.origin(node)?.name;
  }

  /** The member of an old type that a shorthand property gives, such as `CallOptions.onHeader`. */
  shorthand(node: ts.ShorthandPropertyAssignment): string | undefined {
    return this.#origins.shorthand(node);
  }

  /** Reports whether a module is an old package. */
  isOld(specifier: ts.Expression): boolean {
    return ts.isStringLiteral(specifier) && this.kind.packages.some((one) => isWithin(specifier.text, one));
  }

  /** Reports whether a declaration is in an old package. */
  isDeclaredOld(declaration: ts.Node): boolean {
    return declaredIn(declaration, this.kind.packages) !== undefined;
  }

  /** The declaration of a type in other code, such as generated code. */
  declarationOf(type: ts.Type): ts.Declaration | undefined {
    return (type.aliasSymbol ?? type.symbol)?.declarations?.[0];
  }

  /** The declaration that a name refers to, also through aliases. */
  declared(node: ts.Node): ts.Declaration | undefined {
    return this.#origins.declaration(node);
  }

  /** The first value of the variable that a name refers to. */
  initializer(node: ts.Node): ts.Expression | undefined {
    const declaration = this.declared(node);
    return declaration && ts.isVariableDeclaration(declaration) ? declaration.initializer : undefined;
  }

  /** The name of the type of an expression, if an old package declares it. */
  typeName(node: ts.Node): string | undefined {
    return this.oldName(this.checker.getTypeAtLocation(node));
  }

  /** The name of a type, if an old package declares it. */
  oldName(type: ts.Type): string | undefined {
    const declaration = this.declarationOf(type.getNonNullableType());
    const { name } = (declaration ?? {}) as { name?: ts.Node };
    return declaration && name && declaredIn(declaration, this.kind.packages) ? name.getText() : undefined;
  }

  /** Lists a place that stays as it is. */
  leave(node: ts.Node, message: string): void {
    const { line } = this.file.getLineAndCharacterOfPosition(node.getStart());
    const one = { file: this.file.fileName, line: line + 1, message };
    if (!this.left.some((other) => other.line === one.line && other.message === message)) this.left.push(one);
  }

  /** Lists a place that compiles but behaves differently, and inserts a comment before its statement. */
  todo(node: ts.Node, message: string): void {
    this.leave(node, message);
    this.insertBefore(node, `// TODO(triple-es): ${message}`);
  }

  /** Inserts lines before the statement of a node. */
  insertBefore(node: ts.Node, ...lines: readonly string[]): void {
    const statement = statementOf(node);
    const before = this.#before.get(statement) ?? [];
    for (const line of lines) if (!before.includes(line)) before.push(line);
    this.#before.set(statement, before);
  }
}

/** Reports whether a module specifier is a package or a part of it. */
export function isWithin(specifier: string, name: string): boolean {
  return specifier === name || specifier.startsWith(`${name}/`);
}
