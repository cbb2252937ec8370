/**
 * The declarations of a generated file. One list is printed as TypeScript, as JavaScript and as a declaration file, so
 * no compiler is needed to convert one into another. Types and values are functions, which are called only when they
 * are printed, because a call imports the names in its result.
 */
import { literal } from "./literal.ts";

export type Target = "ts" | "js" | "dts";

type Text = () => string;

interface Named {
  /** The whole JSDoc block, or an empty string. */
  readonly doc: string;
  readonly name: string;
}

/** `export type …` */
export interface TypeDeclaration extends Named {
  readonly kind: "type";
  readonly type: Text;
}

/** `export interface … {`, with members that are complete lines. */
export interface InterfaceDeclaration extends Named {
  readonly kind: "interface";
  readonly members: Text;
}

/** `export const …` */
export interface ConstantDeclaration extends Named {
  readonly kind: "const";
  /** True for a constant that is not exported. */
  readonly isLocal?: boolean;
  readonly type: Text;
  readonly value: Text;
}

/** A function or method with parameters that returns a single expression. */
export interface Callable extends Named {
  readonly parameters: readonly ParameterDeclaration[];
  readonly returns: Text;
  readonly result: Text;
}

/** A function with a body of statements. */
export interface Procedure extends Named {
  readonly kind: "procedure";
  readonly parameters: readonly ParameterDeclaration[];
  readonly returns: Text;
  readonly statements: () => readonly string[];
}

export interface ParameterDeclaration {
  readonly name: string;
  readonly type: Text;
  readonly optional?: boolean;
  /** The default value of the parameter. */
  readonly initial?: Text;
}

/** `export function …` */
export interface FunctionDeclaration extends Callable {
  readonly kind: "function";
}

/** `export abstract class …` */
export interface ClassDeclaration extends Named {
  readonly kind: "class";
  readonly implements: string;
  readonly methods: readonly Callable[];
}

export type Declaration =
  | TypeDeclaration
  | InterfaceDeclaration
  | ConstantDeclaration
  | FunctionDeclaration
  | Procedure
  | ClassDeclaration;

/** Prints a declaration as source text. Returns an empty string if the target has no declarations of this kind. */
export function printDeclaration(declaration: Declaration, target: Target, exported: "export " | ""): string {
  const { name } = declaration;
  const doc = docLines(declaration);
  const declare = target === "dts" ? "declare " : "";
  switch (declaration.kind) {
    case "type":
      return target === "js" ? "" : `${doc}export type ${name} = ${declaration.type()};`;
    case "interface":
      return target === "js" ? "" : `${doc}export interface ${name} {\n${declaration.members()}}`;
    case "const": {
      if (declaration.isLocal && target === "dts") return "";
      const type = target === "js" ? "" : `: ${declaration.type()}`;
      const value = target === "dts" ? "" : ` = ${declaration.value()}`;
      return `${doc}${declaration.isLocal ? "" : exported}${declare}const ${name}${type}${value};`;
    }
    case "function":
      return `${doc}${exported}${declare}function ${printCallable(declaration, target, "")}`;
    case "procedure":
      return `${doc}${exported}${declare}function ${printProcedure(declaration, target)}`;
    case "class": {
      const methods = declaration.methods.map((m) => `${docLines(m)}  ${printCallable(m, target, "  ")}\n`);
      const head =
        target === "js" ? `class ${name}` : `${declare}abstract class ${name} implements ${declaration.implements}`;
      return `${doc}${exported}${head} {\n${methods.join("\n")}}`;
    }
  }
}

function docLines({ doc }: Named): string {
  return doc === "" ? "" : `${doc}\n`;
}

function printCallable({ name, parameters, returns, result }: Callable, target: Target, indent: string): string {
  const printed = parameters.map((p) => (target === "js" ? p.name : `${p.name}${p.optional ? "?" : ""}: ${p.type()}`));
  const head = `${name}(${printed.join(", ")})${target === "js" ? "" : `: ${returns()}`}`;
  return target === "dts" ? `${head};` : `${head} {\n${indent}  return ${result()};\n${indent}}`;
}

function printProcedure({ name, parameters, returns, statements }: Procedure, target: Target): string {
  const printed = parameters.map(({ name: parameter, type, initial, optional }) => {
    const isOptional = optional || (initial !== undefined && target === "dts");
    const typed = target === "js" ? parameter : `${parameter}${isOptional ? "?" : ""}: ${type()}`;
    return initial === undefined || target === "dts" ? typed : `${typed} = ${initial()}`;
  });
  const head = `${name}(${printed.join(", ")})${target === "js" ? "" : `: ${returns()}`}`;
  return target === "dts"
    ? `${head};`
    : `${head} {\n${statements()
        .map((line) => `  ${line}\n`)
        .join("")}}`;
}

/** Prints an object literal with one property per line. */
export function objectLiteral(properties: readonly (readonly [key: string, value: string])[], indent = ""): string {
  return properties.length === 0
    ? "{}"
    : `{\n${properties.map(([key, value]) => `${indent}  ${key}: ${value},\n`).join("")}${indent}}`;
}

/** Prints the statements at the end of a CommonJS module that export its declarations. */
export function exportStatements(declarations: readonly Declaration[]): string {
  return declarations
    .filter((one) => one.kind !== "type" && one.kind !== "interface" && !(one.kind === "const" && one.isLocal))
    .map(({ name }) => `exports.${name} = ${name};`)
    .join("\n");
}

/** Returns the union type of the given strings. */
export function unionOf(values: readonly string[]): string {
  return values.length === 0 ? "never" : values.map(literal).join(" | ");
}
