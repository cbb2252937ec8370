/** The allowed syntax of generated code: reports every other element of its syntax tree. */
import { Project, type SourceFile, SyntaxKind, ts } from "ts-morph";

const project = new Project({
  useInMemoryFileSystem: true,
  compilerOptions: { allowJs: true, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
});

/** Functions of the runtime that generated code calls, and those that CommonJS needs. */
const callable = new Set([
  "createClient",
  "createStreamingClient",
  "createInterfaceClient",
  "createFakeClient",
  "unimplemented",
  "require",
]);

/** Nodes that can execute something, with their allowed form. Everything that is not an expression is harmless. */
const expressions: ReadonlyMap<SyntaxKind, RegExp> = new Map([
  [
    SyntaxKind.CallExpression,
    /^(\w+)\$*\((?:"(?:[^"\\]|\\.)*"|[\w$]+(?:, \w+){0,2})\)$|^Object\.defineProperty\(exports, "__esModule", \{ value: true \}\)$/,
  ],
  [SyntaxKind.BinaryExpression, /^exports\.[\w$]+ = [\w$]+$/],
  [
    SyntaxKind.PropertyAccessExpression,
    /^exports\.[\w$]+$|^Object\.defineProperty$|^[\w$]+\.method$|^[\w$]+\.method\.[\w$]+$/,
  ],
  [SyntaxKind.ObjectLiteralExpression, /^\{[\s\S]*\}$/],
  [SyntaxKind.StringLiteral, /^"(?:[^"\\\n\r\u2028\u2029]|\\.)*"$/],
  [SyntaxKind.NumericLiteral, /^\d+$/],
  [SyntaxKind.ExpressionWithTypeArguments, /^[\w$]+$/],
  [SyntaxKind.Identifier, /^[\w$]+$/],
  [SyntaxKind.TrueKeyword, /^true$/],
  // A descriptor, or a class of a contract, which is resolved later.
  [SyntaxKind.ArrowFunction, /^\(\) => [\w$]+(?:\.method\.[\w$]+)?$/],
  // Contracts need lists of parameters and of names.
  [SyntaxKind.ArrayLiteralExpression, /^\[[\s\S]*\]$/],
]);

const statements = new Set([
  SyntaxKind.ImportDeclaration,
  SyntaxKind.ExportDeclaration,
  SyntaxKind.TypeAliasDeclaration,
  SyntaxKind.InterfaceDeclaration,
  SyntaxKind.VariableStatement,
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.ClassDeclaration,
  SyntaxKind.ReturnStatement,
  SyntaxKind.ExpressionStatement,
  SyntaxKind.Block,
]);

/** Returns descriptions of everything in a file that is not allowed. */
export function foreignShapes(name: string, content: string): string[] {
  const file = project.createSourceFile(`/${name}`, content, { overwrite: true });
  try {
    return [...syntaxErrors(file), ...directives(file), ...strangeNodes(file)];
  } finally {
    project.removeSourceFile(file);
  }
}

function syntaxErrors(file: SourceFile): string[] {
  const { parseDiagnostics = [] } = file.compilerNode as { parseDiagnostics?: readonly ts.Diagnostic[] };
  return parseDiagnostics.map(
    ({ messageText }) => `does not parse: ${ts.flattenDiagnosticMessageText(messageText, " ")}`,
  );
}

/**
 * Comments with an effect on compilers, debuggers and Node. The last line of a declaration file may name its source map.
 */
function directives(file: SourceFile): string[] {
  const { referencedFiles, typeReferenceDirectives, libReferenceDirectives } = file.compilerNode;
  const references = [...referencedFiles, ...typeReferenceDirectives, ...libReferenceDirectives];
  const text = file.getFullText().replace(/\n\/\/# sourceMappingURL=\S+\.d\.ts\.map\n$/, "\n");
  const { checkJsDirective, commentDirectives } = file.compilerNode as unknown as {
    checkJsDirective?: unknown;
    commentDirectives?: readonly unknown[];
  };
  return [
    ...references.map(({ fileName }) => `refers to ${fileName}`),
    ...(text.match(/\/[*/]\s*[#@]\s*source(?:Mapping)?URL=.*/g) ?? []),
    ...(checkJsDirective || commentDirectives?.length ? ["has a directive for the compiler"] : []),
  ];
}

function strangeNodes(file: SourceFile): string[] {
  const found: string[] = [];
  file.forEachDescendant((node) => {
    const kind = node.getKind();
    const text = node.getText();
    if (ts.isStatement(node.compilerNode) && !statements.has(kind)) found.push(`statement ${text}`);
    if (ts.isExpression(node.compilerNode) && !isTypePart(node.compilerNode)) {
      const called = kind === SyntaxKind.CallExpression ? /^(\w+)\$*\(/.exec(text)?.[1] : undefined;
      if (!expressions.get(kind)?.test(text)) found.push(`${node.getKindName()} ${text}`);
      if (called !== undefined && !callable.has(called)) found.push(`call of ${called}`);
    }
    if (ts.isDecorator(node.compilerNode) || ts.isComputedPropertyName(node.compilerNode)) found.push(text);
  });
  return found;
}

/** The compiler classifies type nodes such as `string` and `typeof x` as expressions. */
function isTypePart(node: ts.Node): boolean {
  for (let at: ts.Node | undefined = node; at !== undefined; at = at.parent) {
    if (ts.isTypeNode(at) && !ts.isExpressionWithTypeArguments(at)) return true;
    if (ts.isStatement(at)) return false;
  }
  return false;
}
