/** Generated code: which plugin wrote a module, and the modules and names of triple-es in its place. */
import { dirname, relative } from "node:path";
import { ts } from "ts-morph";
import type { Migration } from "./migration.ts";

/** The plugins, by a text at the beginning of what they write. */
const MARKS = {
  "protoc-gen-es": "by protoc-gen-es",
  "ts-proto": "protoc-gen-ts_proto",
  "grpc-tools": "grpc.ServiceDefinition<grpc.UntypedServiceImplementation>",
  "google-protobuf": 'from "google-protobuf"',
} as const;
export type CodeGenerator = keyof typeof MARKS;

/** A name that generated code declares. */
export interface Generated {
  readonly by: CodeGenerator;
  readonly name: string;
  readonly declaration: ts.Declaration;
  /** The path of the module of protoc-gen-es for the same proto file, without `_pb`. */
  readonly path: string;
}

/** Returns the declaration in generated code that a name refers to. */
export function generatedOf(node: ts.Node | undefined, migration: Migration): Generated | undefined {
  const declaration = node && migration.declared(node);
  return declaration && generatedBy(declaration);
}

export function generatedBy(declaration: ts.Declaration): Generated | undefined {
  const { name } = declaration as { name?: ts.Node };
  const by = generatorOf(declaration.getSourceFile());
  if (by === undefined || name === undefined) return undefined;
  const path = declaration.getSourceFile().fileName.replace(/(?:_grpc)?(?:_pb)?(?:\.d)?\.ts$/, "");
  return { by, name: name.getText(), declaration, path };
}

const generators = new WeakMap<ts.SourceFile, CodeGenerator | undefined>();

export function generatorOf(file: ts.SourceFile): CodeGenerator | undefined {
  if (!generators.has(file)) {
    const head = file.text.slice(0, 2000);
    const names = Object.keys(MARKS) as CodeGenerator[];
    generators.set(
      file,
      names.find((name) => head.includes(MARKS[name])),
    );
  }
  return generators.get(file);
}

/** Imports a name of the module that triple-es (`triple`) or protoc-gen-es (`pb`) writes for the same proto file. */
export function useGenerated(
  name: string,
  suffix: "triple" | "pb",
  of: Generated,
  at: ts.Node,
  migration: Migration,
): string {
  return migration.imports.use(moduleOf(of, suffix, migration), name, at);
}

/** The specifier of a module beside a generated one, in the style of the file's imports. */
function moduleOf({ path }: Generated, suffix: string, { file }: Migration): string {
  const specifiers = file.statements
    .filter(ts.isImportDeclaration)
    .map(({ moduleSpecifier }) => (moduleSpecifier as ts.StringLiteral).text);
  const base = path.slice(path.lastIndexOf("/") + 1);
  const isOf = (one: string): boolean =>
    one
      .replace(/\.[jt]s$/, "")
      .replace(/(?:_grpc)?(?:_pb)?$/, "")
      .endsWith(`/${base}`);
  const own = specifiers.find(isOf);
  const extension = /\.[jt]s$/.exec(own ?? specifiers.find((one) => one.startsWith(".")) ?? ".js")?.[0] ?? "";
  if (own !== undefined)
    return `${own.replace(/\.[jt]s$/, "").replace(/(?:_grpc)?(?:_pb)?$/, "")}_${suffix}${extension}`;
  const way = relative(dirname(file.fileName), path).replaceAll("\\", "/");
  return `${way.startsWith(".") ? way : `./${way}`}_${suffix}${extension}`;
}
