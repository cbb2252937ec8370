/** Reads contracts from TypeScript files. Only names to which a contract refers are resolved. */
import { type ModuleDeclaration, Project, type ProjectOptions, type SourceFile, ts } from "ts-morph";
import type { Contract } from "../model/contract.ts";
import type { Problems } from "../model/diagnostics.ts";
import type { ClassShape, EnumShape, JavaTypeModel } from "../model/java-type.ts";
import { JAVA_MODULE } from "../model/known-types.ts";
import { homeOf } from "./resolve.ts";
import { readService } from "./service-reader.ts";
import { type ShapeDeclaration, ShapeReader } from "./shape-reader.ts";
import { checkSyntax, readDeep } from "./syntax.ts";
import { checkTags } from "./tag-check.ts";
import { hasTag } from "./tags.ts";

/**
 * Opens a compiler project that only resolves names. It loads no declarations of the standard library, because loading
 * them takes longer than everything else. This module contains a list of those that contracts may use.
 */
export function openProject(tsConfigFilePath: string | undefined, more: ProjectOptions = {}): Project {
  const own: ts.CompilerOptions = {
    types: [],
    noEmit: true,
    allowImportingTsExtensions: true,
    ...(tsConfigFilePath === undefined
      ? { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler }
      : {}),
  };
  return new Project({
    ...(tsConfigFilePath === undefined ? {} : { tsConfigFilePath }),
    compilerOptions: own,
    skipAddingFilesFromTsConfig: true,
    skipLoadingLibFiles: true,
    ...more,
    resolutionHost: (host, compilerOptions) => ({
      resolveModuleNames: (names, importer) =>
        names.map((name) =>
          name === JAVA_MODULE ? undefined : resolveModule(name, importer, compilerOptions(), host),
        ),
    }),
  });
}

function resolveModule(
  name: string,
  importer: string,
  options: ts.CompilerOptions,
  host: ts.ModuleResolutionHost,
): ts.ResolvedModuleFull | undefined {
  return ts.resolveModuleName(name, importer, options, host).resolvedModule;
}

/** Reads the contracts of the files, ordered by path. Errors are added to `problems`. */
export function readContracts(files: readonly SourceFile[], problems: Problems): Contract[] {
  const shapes = new ShapeReader(problems);
  const sorted = [...files].sort((a, b) => (a.getFilePath() < b.getFilePath() ? -1 : 1));
  const declared = new Set<ShapeDeclaration>(sorted.flatMap(declarationsOf));
  const contracts = sorted.map((file) => {
    const read = (): Contract => readContract(file, shapes, problems, declared);
    return readDeep(file, problems, read) ?? emptyContract(file);
  });
  checkServices(sorted, contracts, problems);
  return contracts;
}

/** Reads one contract. Adds the types of other files that this contract uses first to `declared`. */
function readContract(
  file: SourceFile,
  reader: ShapeReader,
  problems: Problems,
  declared: Set<ShapeDeclaration>,
): Contract {
  // Without this check, errors that follow from a syntax error would hide it.
  if (!checkSyntax(file, problems)) return emptyContract(file);
  checkTags(file, problems);
  checkForms(file, problems);
  const services = file
    .getInterfaces()
    .filter((node) => hasTag(node, "service"))
    .flatMap((node) => readService(node, reader.types, problems) ?? []);
  const generic = (node: ShapeDeclaration): ClassShape | EnumShape | undefined => {
    const parameters = "getTypeParameters" in node ? node.getTypeParameters() : [];
    const variables = parameters.map((one): JavaTypeModel => ({ kind: "variable", name: one.getName() }));
    return reader.shapeOf(node, variables, homeOf(node, {}));
  };
  const own = declarationsOf(file).flatMap((node) => generic(node) ?? []);
  const others: (ClassShape | EnumShape)[] = [];
  for (const node of reader.declarations()) {
    if (declared.has(node)) continue;
    declared.add(node);
    others.push(...[generic(node) ?? []].flat());
  }
  const isGeneric = (shape: ClassShape | EnumShape): boolean => shape.kind === "class" && shape.args.length > 0;
  return {
    file: file.getFilePath(),
    services,
    shapes: own.filter((shape) => !isGeneric(shape)),
    declared: [...own, ...others],
  };
}

/** Returns the declarations that are tagged as a class or an enum, in the order of the file. */
function declarationsOf(file: SourceFile): ShapeDeclaration[] {
  return [...file.getInterfaces(), ...file.getClasses(), ...file.getTypeAliases(), ...file.getEnums()]
    .filter((node) => hasTag(node, "class") || hasTag(node, "enum"))
    .filter((node) => !hasTag(node, "service"))
    .sort((a, b) => a.getPos() - b.getPos());
}

/** Reports tags on declarations to which they do not apply. */
function checkForms(file: SourceFile, problems: Problems): void {
  for (const node of file.getModules().flatMap(declarationsInside)) {
    const tag = (["service", "class", "enum"] as const).find((one) => hasTag(node, one));
    if (tag !== undefined) problems.error(node, `@${tag} is not read inside of a namespace; declare it outside`);
  }
  for (const node of [...file.getTypeAliases(), ...file.getClasses(), ...file.getEnums()]) {
    if (hasTag(node, "service")) problems.error(node, "@service belongs to an interface");
  }
}

/** Returns the declarations in a namespace and its nested namespaces that can have a tag. */
function declarationsInside(module: ModuleDeclaration): ShapeDeclaration[] {
  return [
    ...module.getInterfaces(),
    ...module.getClasses(),
    ...module.getTypeAliases(),
    ...module.getEnums(),
    ...module.getModules().flatMap(declarationsInside),
  ];
}

function emptyContract(file: SourceFile): Contract {
  return { file: file.getFilePath(), services: [], shapes: [], declared: [] };
}

/** Reports services that a server could not distinguish. */
function checkServices(files: readonly SourceFile[], contracts: readonly Contract[], problems: Problems): void {
  const known = new Set<string>();
  for (const [i, { services }] of contracts.entries()) {
    for (const { name, javaName, group = "", version = "" } of services) {
      const key = [javaName, group, version].join(" ");
      const node = files[i]?.getInterface(name);
      if (known.has(key) && node !== undefined) {
        problems.error(node, `another interface is ${javaName} of the same group and version`);
      }
      known.add(key);
    }
  }
}
