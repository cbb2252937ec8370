/** Code that proto-loader-gen-types wrote, whose modules are named after messages and services, and not after proto files. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { ts } from "ts-morph";
import { generatorOf } from "./generator.ts";
import { localName, tokensOf } from "./proto-files.ts";

const OUTPUT = "__Output";

/** A proto file that code was generated from. */
export interface ProtoFile {
  readonly package: string;
  /** The path that other proto files import it by, without `.proto`. */
  readonly name: string;
  /** Its tokens. */
  readonly text: string;
}

/** Returns the proto file that a module names in a comment, by a path from a folder above it. */
export function protoOf({ fileName, text }: ts.SourceFile): ProtoFile | undefined {
  const original = /^\/\/ Original file: (.*)/m.exec(text)?.[1]?.trim() ?? "null";
  for (let folder = dirname(fileName); original !== "null"; folder = dirname(folder)) {
    if (existsSync(join(folder, original))) return readProto(join(folder, original));
    if (folder === dirname(folder)) break;
  }
  return undefined;
}

function readProto(path: string): ProtoFile {
  const text = tokensOf(readFileSync(path, "utf8")).join(" ");
  const [, own = ""] = /\bpackage\s+([\w.]+)\s*;/.exec(text) ?? [];
  const imports = Array.from(
    text.matchAll(/\bimport\s+(?:public\s+|weak\s+)?["']([^"']+)["']/g),
    ([, name = ""]) => name,
  );
  const needed = imports.filter((name) => !name.startsWith("google/"));
  const isRoot = (folder: string): boolean => needed.every((name) => existsSync(join(folder, name)));
  const folders = [dirname(path)];
  // Folders of proto files are named after packages.
  const named = `/${own.replaceAll(".", "/")}`;
  if (own !== "" && dirname(path).endsWith(named)) folders.unshift(dirname(path).slice(0, -named.length));
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) folders.push(dirname(folder));
  const root = folders.find(isRoot) ?? dirname(path);
  return {
    package: own,
    name: relative(root, path)
      .replaceAll("\\", "/")
      .replace(/\.proto$/, ""),
    text,
  };
}

/** The module of protoc-gen-es for the proto file of such code, without `_pb`; `undefined` if it is not known. */
export function loadedPath(file: ts.SourceFile): string | undefined {
  if (file.fileName.includes("/google/protobuf/")) return file.fileName.replace(/(?:\.d)?\.ts$/, "");
  const proto = protoOf(file);
  const own = proto && proto.package !== "" ? `/${proto.package.replaceAll(".", "/")}` : "";
  const folder = dirname(file.fileName);
  return proto && folder.endsWith(own) ? `${folder.slice(0, folder.length - own.length)}/${proto.name}` : undefined;
}

/** The name that protoc-gen-es gives what such code declares: `Order` for `Order__Output`, `Order_Item` for `_shop_v1_Order_Item`. */
export function loadedName(name: string, file: ts.SourceFile): string {
  const own = name.endsWith(OUTPUT) ? name.slice(0, -OUTPUT.length) : name;
  const prefix = `_${protoOf(file)?.package.replaceAll(".", "_") ?? ""}_`.replace("__", "_");
  return own.startsWith(prefix) ? own.slice(prefix.length) : own;
}

/** The name of a method in triple-es. */
export function loadedMethod(name: string): string {
  const own = localName(name);
  return own.slice(0, 1).toLowerCase() + own.slice(1);
}

export function isLoaded(node: ts.Node | undefined): boolean {
  return node !== undefined && generatorOf(node.getSourceFile()) === "proto-loader";
}

/** An interface in the same module. */
export function siblingOf(file: ts.SourceFile, name: string): ts.InterfaceDeclaration | undefined {
  return file.statements.filter(ts.isInterfaceDeclaration).find((one) => one.name.text === name);
}

/** The interface of messages that are passed to proto-loader (`Order`), or that it returns (`Order__Output`). */
export function messageOf(node: ts.Node, way: "input" | "output"): ts.InterfaceDeclaration | undefined {
  const { name, parent } = node as ts.InterfaceDeclaration;
  const own = name.text.endsWith(OUTPUT) ? name.text.slice(0, -OUTPUT.length) : name.text;
  return siblingOf(parent as ts.SourceFile, way === "output" ? own + OUTPUT : own);
}

/** The client interface of the service that an expression is loaded as: `proto.shop.v1.ShopService`. */
export function loadedClient(node: ts.Node, checker: ts.TypeChecker): ts.InterfaceDeclaration | undefined {
  if (!ts.isIdentifier(node) && !ts.isPropertyAccessExpression(node)) return undefined;
  const service = checker.getTypeAtLocation(node).getProperty("service");
  if (!service?.declarations?.some(isLoaded)) return undefined;
  const [definition] = checker.getTypeOfSymbolAtLocation(service, node).symbol?.declarations ?? [];
  if (!definition || !ts.isInterfaceDeclaration(definition) || !isLoaded(definition)) return undefined;
  return siblingOf(definition.getSourceFile(), definition.name.text.replace(/Definition$/, "Client"));
}
