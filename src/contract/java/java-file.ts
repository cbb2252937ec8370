/** The Java files of contracts: an interface for each service, and classes for its data. */
import { fileHead, type OutputFile } from "../../print/file-head.ts";
import type { Contract, Method } from "../model/contract.ts";
import { classOfJdk, isException, isJavaName } from "../model/java-name.ts";
import { boxed, type ClassShape, type Field, type JavaTypeModel } from "../model/java-type.ts";
import { accessorsOf, type JavaDeclaration } from "./java-check.ts";
import { JavaImports, splitName } from "./java-imports.ts";

/** A Java class with its nested classes. */
interface Unit {
  readonly name: string;
  readonly source: string;
  declared: JavaDeclaration | undefined;
  readonly nested: Map<string, Unit>;
}

const STREAM = "org.apache.dubbo.common.stream.StreamObserver";
const INDENT = "    ";
const VERSION = "serialVersionUID";

/** Prints the Java files of valid contracts. `out` is the absolute path of the output folder. */
export function javaFiles(contracts: readonly Contract[], out: string): OutputFile[] {
  const packages = new Map<string, Map<string, Unit>>();
  const placed = new Set<string>();
  for (const contract of contracts) {
    for (const declared of [...contract.services, ...contract.declared]) {
      // Several versions of a service share one Java interface, and classes of the JDK need no declaration.
      const isThere = placed.has(declared.javaName) || classOfJdk(declared.javaName) !== undefined;
      const source = "home" in declared ? declared.home.file : contract.file;
      if (!isThere) place(declared, source, packages);
      placed.add(declared.javaName);
    }
  }
  return [...packages]
    .flatMap(([packageName, units]) =>
      [...units.values()].map((unit) => {
        const path = [...packageName.split("."), `${unit.name}.java`].filter((part) => part !== "").join("/");
        return { path, text: printFile(unit, packageName, units.keys(), `${out}/${path}`) };
      }),
    )
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

function place(declared: JavaDeclaration, source: string, packages: Map<string, Map<string, Unit>>): void {
  const { packageName, names } = splitName(declared.javaName);
  let units = packages.get(packageName) ?? new Map<string, Unit>();
  packages.set(packageName, units);
  for (const [i, name] of names.entries()) {
    const unit: Unit = units.get(name) ?? { name, source, declared: undefined, nested: new Map() };
    units.set(name, unit);
    units = unit.nested;
    if (i === names.length - 1) unit.declared = declared;
  }
}

function printFile(unit: Unit, packageName: string, neighbours: Iterable<string>, path: string): string {
  const imports = new JavaImports(packageName, [...neighbours, ...namesInside(unit)]);
  const body = printUnit(unit, imports, true);
  const blocks = [
    fileHead(path, unit.source, []).trimEnd(),
    packageName === "" ? "" : `package ${packageName};`,
    imports.statements().join("\n"),
    body.join("\n"),
  ];
  return `${blocks.filter((block) => block !== "").join("\n\n")}\n`;
}

/** Returns the names that hide those of other files: nested classes and type parameters. */
function namesInside({ declared, nested }: Unit): string[] {
  const parameters = declared !== undefined && "args" in declared ? variables(declared) : [];
  return [...parameters, ...[...nested.values()].flatMap((unit) => [unit.name, ...namesInside(unit)])];
}

function variables({ args }: ClassShape): string[] {
  return args.flatMap((arg) => (arg.kind === "variable" ? [arg.name] : []));
}

/** Prints a class, interface or enum as lines. Classes inside an interface are implicitly static and public. */
function printUnit({ name, declared, nested }: Unit, imports: JavaImports, isTop: boolean): string[] {
  const inside = [...nested.values()].flatMap((unit) => ["", ...printUnit(unit, imports, false)]);
  const modifier = isTop ? "public" : "public static";
  if (declared === undefined) {
    return block(`${modifier} final class ${name}`, ["", `private ${name}() {}`, ...inside]);
  }
  if ("methods" in declared) {
    const methods = declared.methods.flatMap((method) => ["", ...printMethod(method, imports)]);
    return [...javadoc(declared), ...block(`${modifier} interface ${name}`, [...methods, ...inside])];
  }
  if (declared.kind === "enum") {
    const values = declared.values.map((value, i) => `${value}${i < declared.values.length - 1 ? "," : ";"}`);
    return [...javadoc(declared), ...block(`${modifier} enum ${name}`, [...values, ...inside])];
  }
  return [...javadoc(declared), ...printClass(name, declared, modifier, imports, inside)];
}

function printMethod(method: Method, imports: JavaImports): string[] {
  const { kind, javaName, parameters, exceptions } = method;
  const stream = (of: JavaTypeModel | undefined): string =>
    `${imports.name(STREAM)}<${of === undefined ? "Void" : imports.type(boxed(of))}>`;
  const names = parameterNames(parameters);
  const given = parameters.map(({ type }, i) => `${imports.type(type.java)} ${names[i]}`);
  const answer = (): string => `${stream(method.result?.java)} ${names[parameters.length]}`;
  const end = exceptions.length === 0 ? ";" : ` throws ${exceptions.map((name) => imports.name(name)).join(", ")};`;
  switch (kind) {
    case "unary": {
      const result = method.result === undefined ? "void" : imports.type(method.result.java);
      return [...javadoc(method), `${result} ${javaName}(${given.join(", ")})${end}`];
    }
    case "server_streaming":
      return [...javadoc(method), `void ${javaName}(${[...given, answer()].join(", ")})${end}`];
    case "client_streaming":
    case "bidi_streaming":
      return [...javadoc(method), `${stream(parameters[0]?.type.java)} ${javaName}(${answer()})${end}`];
  }
}

/** Returns unique parameter names that Java accepts, followed by the name for the observer of a stream. */
function parameterNames(parameters: Method["parameters"]): string[] {
  const taken = new Set(parameters.map(({ name }) => name).filter(isJavaName));
  const free = (wanted: string): string => {
    const name = taken.has(wanted) || !isJavaName(wanted) ? free(`${wanted}_`) : wanted;
    taken.add(name);
    return name;
  };
  const names = parameters.map(({ name }, i) => {
    if (isJavaName(name)) return name;
    return free(isJavaName(`${name}_`) ? name : `argument${i}`);
  });
  return [...names, free("observer")];
}

function printClass(
  name: string,
  shape: ClassShape,
  modifier: string,
  imports: JavaImports,
  inside: readonly string[],
): string[] {
  const parameters = variables(shape);
  const base = shape.base === undefined ? "" : ` extends ${imports.type(shape.base)}`;
  const head = `${modifier} class ${name}${parameters.length > 0 ? `<${parameters.join(", ")}>` : ""}${base}`;
  const fields = shape.ownFields.flatMap((field) => [
    ...javadoc(field),
    `private ${imports.type(field.java)} ${field.name};`,
  ]);
  const accessors = shape.ownFields.flatMap((field) => printAccessors(field, imports));
  const isOwn = shape.fields.some(({ name: field }) => field === VERSION);
  const version = isOwn ? [] : [`private static final long ${VERSION} = 1L;`, ""];
  return block(`${head} implements ${imports.name("java.io.Serializable")}`, [
    ...version,
    ...fields,
    ...accessors,
    ...inside,
  ]);
}

function printAccessors(field: Field, imports: JavaImports): string[] {
  const type = imports.type(field.java);
  const { getter, setter } = accessorsOf(field);
  return [
    "",
    ...block(`public ${type} ${getter}()`, [`return ${field.name};`]),
    "",
    ...block(`public void ${setter}(${type} ${field.name})`, [`this.${field.name} = ${field.name};`]),
  ];
}

function javadoc({ comment, deprecated }: { comment: readonly string[]; deprecated?: boolean }): string[] {
  const isOfJava = (line: string): boolean => !line.startsWith("@throws ") || isException(line.split(" ")[1] ?? "");
  const lines = comment.filter(isOfJava).map((line) =>
    line
      .replace(/^@returns\b/, "@return")
      .replaceAll("*/", "*&#47;")
      .replaceAll("\\@", "{@literal @}")
      // The compiler replaces \u escapes before it parses comments.
      .replaceAll("\\", "&#92;"),
  );
  while (lines.at(-1) === "") lines.pop();
  const doc = lines.length === 0 ? [] : ["/**", ...lines.map((line) => ` * ${line}`.trimEnd()), " */"];
  return deprecated === true ? [...doc, "@Deprecated"] : doc;
}

function block(head: string, body: readonly string[]): string[] {
  const lines = body[0] === "" ? body.slice(1) : body;
  return lines.length === 0 ? [`${head} {}`] : [`${head} {`, ...indented(lines), "}"];
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => (line === "" ? "" : INDENT + line));
}
