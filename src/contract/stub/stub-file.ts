/** Prints a file generated from a contract: clients and handlers of services without a proto file. */
import { relative } from "node:path";
import { type Declaration, objectLiteral, printDeclaration, type Target } from "../../print/declaration.ts";
import { fileHead, type OutputFile } from "../../print/file-head.ts";
import { type ImportedModule, Imports, type PathOptions } from "../../print/imports.ts";
import { describeAgain, jsDoc } from "../../print/jsdoc.ts";
import { literal, propertyKey } from "../../print/literal.ts";
import { Scope } from "../../print/names.ts";
import { FORMAT } from "../../version.ts";
import type { Method, MethodParameter, TypeNames } from "../model/contract.ts";
import { type Field, type JavaTypeModel, typeLiteral } from "../model/java-type.ts";
import { JAVA_MODULE } from "../model/known-types.ts";
import { clientResult, givenType, handlerResult, serviceInterfaces } from "../model/service-interfaces.ts";
import { reserved, type Shape, type StubOutline, type StubServiceOutline, sourceExtension } from "./stub-outline.ts";

export interface StubOptions {
  readonly target: Target;
  /** The absolute path of the output folder. */
  readonly out: string;
  readonly importExtension: PathOptions["importExtension"];
}

/** Prints the file of an outline. It may import from the files of `all`. */
export function stubFile(outline: StubOutline, all: readonly StubOutline[], options: StubOptions): OutputFile {
  const { target, out, importExtension } = options;
  const path = `${outline.path}.${target === "dts" ? "d.ts" : target}`;
  const imports = new Imports(path, new Scope([...reserved, ...outline.claimed]), {
    importExtension,
    rewriteImports: [],
  });
  const tools: Tools = { target, runtime: imports.module(JAVA_MODULE), ...namesOf(outline, all, imports, out) };
  const declarations: Declaration[] = [
    ...[...outline.locals].map(([shape, name]) => shapeConstant(shape, name, true, tools)),
    ...[...outline.constants].map(([shape, name]) => shapeConstant(shape, name, false, tools)),
    ...outline.services.flatMap((service) => serviceDeclarations(service, tools)),
  ].sort((a, b) => Number(isEnum(b)) - Number(isEnum(a)));
  const body = declarations.map((one) => printDeclaration(one, target, "export ")).filter((text) => text !== "");
  const head = fileHead(`${out}/${path}`, outline.contract.file);
  const blocks = [imports.statements(target === "js" ? "JavaScript" : "TypeScript").join("\n"), ...body];
  return { path, text: `${head}\n${blocks.filter((block) => block !== "").join("\n\n")}\n` };

  /** Reports whether a declaration is the constant of an enum, to which later constants refer. */
  function isEnum({ name }: Declaration): boolean {
    return [...outline.locals, ...outline.constants].some(([shape, own]) => shape.kind === "enum" && own === name);
  }
}

interface Tools {
  readonly target: Target;
  readonly runtime: ImportedModule;
  readonly types: TypeNames;
  readonly constantOf: (shape: Shape) => string;
}

function namesOf(
  outline: StubOutline,
  all: readonly StubOutline[],
  imports: Imports,
  out: string,
): Pick<Tools, "types" | "constantOf"> {
  const runtime = imports.module(JAVA_MODULE);
  const types: TypeNames = {
    brand: (name) => runtime.type(name),
    exported: ({ file, name = "", declaredName, specifier }) => {
      const path = relative(out, file).replaceAll("\\", "/").replace(sourceExtension, ".js");
      return imports.module(specifier ?? `./${path}`).type(name, name === "default" ? declaredName : name);
    },
  };
  const constantOf = (shape: Shape): string => {
    const own = outline.constants.get(shape) ?? outline.locals.get(shape);
    if (own !== undefined) return own;
    const sibling = all.find(({ constants }) => constants.has(shape));
    return imports.module(`./${sibling?.path}.js`).value(sibling?.constants.get(shape) ?? "");
  };
  return { types, constantOf };
}

function shapeConstant(shape: Shape, name: string, isLocal: boolean, tools: Tools): Declaration {
  const { target, runtime, constantOf } = tools;
  const type = ({ name, java }: Field): string => {
    const text = typeLiteral(java, constantOf);
    // For a key that is also a member of `Object`, TypeScript takes the contextual type from `Object` instead of the
    // index signature.
    return target === "ts" && name in Object.prototype ? `${text} as ${runtime.type("JavaType")}` : text;
  };
  const inside = (): [string, string] =>
    shape.kind === "enum"
      ? ["values", `[${shape.values.map(literal).join(", ")}]`]
      : [
          "fields",
          objectLiteral(
            shape.fields.map((field) => [propertyKey(field.name), type(field)]),
            "  ",
          ),
        ];
  return {
    kind: "const",
    isLocal,
    doc: jsDoc([`The Java ${shape.kind} ${shape.javaName}.`]),
    name,
    type: () => runtime.type(shape.kind === "enum" ? "JavaEnum" : "JavaClass"),
    value: () => objectLiteral([["name", literal(shape.javaName)], inside()]),
  };
}

function serviceDeclarations(outline: StubServiceOutline, tools: Tools): Declaration[] {
  const { service, client, handler, definition, factory, methods } = outline;
  const { runtime } = tools;
  return [
    ...serviceInterfaces(
      service,
      methods.map(({ method }) => method),
      { name: client, signature: (method) => clientSignature(method, tools) },
      { name: handler, signature: (method) => handlerSignature(method, tools) },
    ),
    ...methods.map(
      ({ method, constant }): Declaration => ({
        kind: "const",
        doc: describeAgain(method),
        name: constant,
        type: () => runtime.type("InterfaceMethod"),
        value: () => methodValue(method, outline, tools),
      }),
    ),
    {
      kind: "const",
      doc: describeAgain(service),
      name: definition,
      type: () => `${runtime.type("ServiceDef")}<${client}, ${handler}>`,
      value: () => definitionValue(outline),
    },
    {
      kind: "function",
      doc: jsDoc([`Creates a client of ${service.javaName}.`, ...(service.deprecated ? ["", "@deprecated"] : [])]),
      name: factory,
      parameters: [
        { name: "transport", type: () => runtime.type("Transport") },
        { name: "defaults", type: () => runtime.type("CallDefaults"), optional: true },
      ],
      returns: () => client,
      result: () => `${runtime.value("createInterfaceClient")}(${definition}, transport, defaults)`,
    },
  ];
}

/** Prints the contract's method with the call options as an additional last parameter. */
function clientSignature(method: Method, { types, runtime }: Tools): string {
  const given = method.parameters.map(({ name, isOptional, type }) => {
    return `${name}${isOptional ? "?" : ""}: ${givenType(method.kind, type.text(types))}`;
  });
  const options = `${freeName("options", method)}?: ${runtime.type("CallOptions")}`;
  const result = method.result?.text(types) ?? "void";
  return `(${[...given, options].join(", ")}): ${clientResult(method.kind, result)}`;
}

/**
 * Prints the contract's method for a handler. An omitted argument is received as null, because later parameters are
 * always present.
 */
function handlerSignature(method: Method, { types, runtime }: Tools): string {
  const given = method.parameters.map((parameter) => {
    return `${parameter.name}: ${givenType(method.kind, parameterText(parameter, types))}`;
  });
  const context = `${freeName("context", method)}: ${runtime.type("HandlerContext")}`;
  const result = method.result?.text(types) ?? "void";
  return `(${[...given, context].join(", ")}): ${handlerResult(method.kind, result)}`;
}

function parameterText({ isOptional, type }: MethodParameter, types: TypeNames): string {
  return isOptional && type.hasNull !== true ? `${type.text(types)} | null` : type.text(types);
}

/** Returns a name for an additional parameter that differs from the names of the author's parameters. */
function freeName(wanted: string, { parameters }: Method): string {
  return new Scope(parameters.map(({ name }) => name)).claim(wanted);
}

function methodValue(method: Method, { service }: StubServiceOutline, { runtime, constantOf }: Tools): string {
  const type = (java: JavaTypeModel): string => typeLiteral(java, constantOf);
  const parameters = method.parameters.map(
    ({ name, type: { java } }) => `      { name: ${literal(name)}, type: ${type(java)} },\n`,
  );
  const signature: [string, string][] = [
    ["parameters", parameters.length === 0 ? "[]" : `[\n${parameters.join("")}    ]`],
    ["result", method.result === undefined ? '"void"' : type(method.result.java)],
  ];
  if (service.serialization !== undefined) signature.push(["serialization", literal(service.serialization)]);
  const facts: [string, string][] = [
    ["kind", literal(method.kind)],
    ["service", literal(service.javaName)],
    ["name", literal(method.javaName)],
    ["path", literal(`/${service.javaName}/${method.javaName}`)],
    ["payload", runtime.value("interfacePayload")],
    ["signature", objectLiteral(signature, "  ")],
  ];
  if (method.deprecated) facts.push(["deprecated", "true"]);
  return objectLiteral(facts);
}

function definitionValue({ service, methods }: StubServiceOutline): string {
  const { group, version, javaName } = service;
  const table = methods.map(({ method, constant }): [string, string] => [propertyKey(method.name), constant]);
  const selector: [string, string][] = [];
  if (version !== undefined) selector.push(["version", literal(version)]);
  if (group !== undefined) selector.push(["group", literal(group)]);
  return objectLiteral([
    ["typeName", literal(javaName)],
    ["methods", objectLiteral(table, "  ")],
    ["format", FORMAT],
    ...(selector.length > 0 ? [["selector", objectLiteral(selector, "  ")] as [string, string]] : []),
  ]);
}
