/** Generated code: which plugin wrote a module, and the modules and names of triple-es in its place. */
import { existsSync } from "node:fs";
import { dirname, relative } from "node:path";
import { ts } from "ts-morph";
import { type CodeGenerator, generatorOf, WELL_KNOWN } from "./generator.ts";
import { loadedClient, loadedName, loadedPath } from "./loader-names.ts";
import type { Migration } from "./migration.ts";

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
  const declaration = node && (loadedClient(node, migration.checker) ?? migration.declared(node));
  return declaration && generatedBy(declaration);
}

export function generatedBy(declaration: ts.Declaration): Generated | undefined {
  const { name } = declaration as { name?: ts.Node };
  const by = generatorOf(declaration.getSourceFile());
  if (by === undefined || name === undefined) return undefined;
  if (by === "proto-loader") {
    const file = declaration.getSourceFile();
    const path = loadedPath(file);
    return path === undefined ? undefined : { by, name: loadedName(name.getText(), file), declaration, path };
  }
  return { by, name: outerName(declaration) + name.getText(), declaration, path: pathOf(declaration.getSourceFile()) };
}

function pathOf({ fileName }: ts.SourceFile): string {
  return fileName.replace(/(?:_grpc)?(?:_pb)?(?:\.d)?\.ts$/, "");
}

/** The package of the proto file of code of ts-proto or google-protobuf, which another package shares the names of. */
export function packageOf(node: ts.Node): string {
  const { text } = node.getSourceFile();
  return /(?:protobufPackage = "|^\/\/ package: )([\w.]*)/m.exec(text)?.[1] ?? "";
}

/** The names of the messages around a nested one, which grpc-tools declares in namespaces. */
function outerName(node: ts.Node): string {
  const { parent } = ts.isVariableDeclaration(node) ? node.parent.parent : node;
  if (parent === undefined || !ts.isModuleBlock(parent)) return "";
  return `${outerName(parent.parent)}${parent.parent.name.getText()}_`;
}

/** Reports whether generated code is that of a well-known type. */
export function isWellKnown({ by, path }: Generated): boolean {
  return path.includes(WELL_KNOWN) || (["proto-loader", "ts-proto"].includes(by) && path.includes("/google/protobuf/"));
}

/** The type of what becomes a message, which modules of triple-es with services export. */
export function useInit(of: Generated, at: ts.Node, migration: Migration): string {
  const isGoogle = of.by === "google-protobuf";
  if (
    !["google-protobuf", "proto-loader"].includes(of.by) ||
    (isGoogle && !isWellKnown(of) && existsSync(`${of.path}_grpc_pb.d.ts`))
  )
    return useGenerated(`${of.name}Init`, "triple", of, at, migration);
  const shape = migration.imports.use("@bufbuild/protobuf", "MessageInitShape", at);
  return `${shape}<typeof ${useGenerated(`${of.name}Schema`, "pb", of, at, migration)}>`;
}

/** Imports a name of the module that triple-es (`triple`) or protoc-gen-es (`pb`) writes for the same proto file. */
export function useGenerated(
  name: string,
  suffix: "triple" | "pb",
  of: Generated,
  at: ts.Node,
  migration: Migration,
): string {
  const module = isWellKnown(of) ? "@bufbuild/protobuf/wkt" : moduleOf(of, suffix, migration);
  return migration.imports.use(module, name, at);
}

/** The specifier of a module beside a generated one, in the style of the file's imports. */
function moduleOf({ path }: Generated, suffix: string, { file, checker }: Migration): string {
  const imports = file.statements.filter(ts.isImportDeclaration);
  const textOf = ({ moduleSpecifier }: ts.ImportDeclaration): string => (moduleSpecifier as ts.StringLiteral).text;
  const specifiers = imports.map(textOf);
  const isOf = ({ moduleSpecifier }: ts.ImportDeclaration): boolean => {
    const [source] = checker.getSymbolAtLocation(moduleSpecifier)?.declarations ?? [];
    return source !== undefined && ts.isSourceFile(source) && pathOf(source) === path;
  };
  const ofFile = imports.find(isOf);
  const own = ofFile && textOf(ofFile);
  const extension = /\.[jt]s$/.exec(own ?? specifiers.find((one) => one.startsWith(".")) ?? ".js")?.[0] ?? "";
  if (own !== undefined)
    return `${own.replace(/\.[jt]s$/, "").replace(/(?:_grpc)?(?:_pb)?$/, "")}_${suffix}${extension}`;
  const way = relative(dirname(file.fileName), path).replaceAll("\\", "/");
  return `${way.startsWith(".") ? way : `./${way}`}_${suffix}${extension}`;
}

/** The names that triple-es has for parts of a service in code of ts-proto, by how those end. */
const SERVICE_PARTS = [
  ["Client", "Client"],
  ["Definition", "Def"],
  ["Implementation", "Handler"],
] as const;

/** The name that the client, the definition or the implementation of a service has in triple-es. */
export function servicePart({ by, name, declaration }: Generated): string | undefined {
  const [end, own] = SERVICE_PARTS.find(([end]) => name.endsWith(end)) ?? [];
  if (by !== "ts-proto" || !end) return undefined;
  const bare = name.slice(0, -end.length);
  // ts-proto adds "Service" to names of implementations without it.
  const isAdded = end === "Implementation" && !declaration.getSourceFile().text.includes(`${bare}Definition`);
  return `${isAdded ? bare.slice(0, -"Service".length) : bare}${own}`;
}

/** The type of any service. */
export function anyService(node: ts.Node, migration: Migration): string {
  return `${migration.imports.use("triple-es", "ServiceDef", node)}<object, object>`;
}

/** The type of the client or the handler of a service, such as a type parameter. */
export function serviceMember(service: string, name: "client" | "handler"): string {
  return `NonNullable<${service}["~types"]>["${name}"]`;
}

/** The schema of a message. */
export function schemaOf(of: Generated, node: ts.Node, migration: Migration): string {
  return useGenerated(`${of.name}Schema`, "pb", of, node, migration);
}

/** The call of a function of protobuf-es with the schema of a message. */
export function schemaCall(
  name: string,
  of: Generated,
  args: readonly ts.Node[],
  node: ts.Node,
  migration: Migration,
): string {
  const given = args.map((one) => {
    const isUnknown = name === "fromJson" && migration.checker.getTypeAtLocation(one).flags & ts.TypeFlags.Unknown;
    return `${migration.print(one)}${isUnknown ? ` as ${migration.imports.use("@bufbuild/protobuf", "JsonValue", one.parent)}` : ""}`;
  });
  return `${migration.imports.use("@bufbuild/protobuf", name, node)}(${[schemaOf(of, node, migration), ...given].join(", ")})`;
}

/** The name of a member of an enum, without the prefix that protobuf-es omits if all have it before a name. */
export function bareName(name: string, { name: own, members }: ts.EnumDeclaration | ts.InterfaceDeclaration): string {
  // ts-protoc-gen declares the interface `StatusMap`.
  const isMap = members[0] !== undefined && ts.isPropertySignature(members[0]);
  const names = members.map((one) => one.name?.getText() ?? "");
  return bareNameOf(name, isMap ? own.text.slice(0, -"Map".length) : own.text, names);
}

/** Such a name, of an enum with a name and members. */
export function bareNameOf(name: string, own: string, members: readonly string[]): string {
  // ts-proto names a nested enum after its message, and adds a member.
  const words = own.slice(own.lastIndexOf("_") + 1).replaceAll(/[A-Z]/g, "_$&");
  const prefix = `${words.slice(1).toUpperCase()}_`;
  const names = members.filter((one) => one !== "UNRECOGNIZED");
  const isShared = names.every((one) => one.startsWith(prefix) && (one[prefix.length] ?? "") > "9");
  return isShared && name !== "UNRECOGNIZED" ? name.slice(prefix.length) : name;
}
