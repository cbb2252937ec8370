/** The tags that limit values, such as `@min 1`, on fields and on the aliases of their types. */
import { type JSDocTag, Node, type TypeAliasDeclaration, type TypeNode } from "ts-morph";
import { nearestName } from "../../print/did-you-mean.ts";
import type { Problems } from "../model/diagnostics.ts";
import type { ValueRules } from "./wire-type.ts";

type Target = "string" | "number" | "array";

const TAGS: Readonly<Record<string, readonly [target: Target, rule: keyof ValueRules]>> = {
  min: ["number", "min"],
  max: ["number", "max"],
  int: ["number", "int"],
  minLength: ["string", "min"],
  maxLength: ["string", "max"],
  pattern: ["string", "pattern"],
  format: ["string", "format"],
  minItems: ["array", "min"],
  maxItems: ["array", "max"],
};

/** The formats of `@format`, each with its name in errors and its pattern. */
const FORMATS: Readonly<Record<string, readonly [name: string, pattern: string]>> = {
  date: ["a date such as 2026-01-31", "^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])$"],
  email: ["an email address", "^[\\w.+-]+@[A-Za-z0-9-]+(?:\\.[A-Za-z0-9-]+)+$"],
  uri: ["a URI", "^[A-Za-z][A-Za-z0-9+.-]*:\\S+$"],
  uuid: ["a UUID", "^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"],
};

/** The rules of the strings, numbers and arrays of a type, each with a tag that declares one. */
export type TaggedRules = Partial<Record<Target, { readonly rules: ValueRules; readonly tag: JSDocTag }>>;

/** Returns the rules in the comments of a declaration, and of the aliases in its type. */
export function rulesOf(declaration: Node | undefined, type: TypeNode | undefined, problems: Problems): TaggedRules {
  const found: TaggedRules = {};
  const sources = [...(declaration === undefined ? [] : [declaration]), ...aliasesOf(type)];
  for (const tag of sources.flatMap(tagsOf)) {
    const name = tag.getTagName();
    const [target, rule] = (Object.hasOwn(TAGS, name) && TAGS[name]) || [];
    if (target === undefined || rule === undefined) {
      // JSON Schema has minimum, maximum and integer.
      const written = name.replace(/(?:imum|eger)$/, "");
      const meant = nearestName(written, Object.keys(TAGS));
      if (meant !== undefined && name !== "link") problems.warn(tag, `@${name} is unknown, did you mean @${meant}?`);
      continue;
    }
    const rules = readRule(tag, name, rule, problems);
    if (rules !== undefined) found[target] = { rules: { ...rules, ...found[target]?.rules }, tag };
    const { min = -Infinity, max = Infinity } = found[target]?.rules ?? {};
    if ((rule === "min" || rule === "max") && min > max)
      problems.error(tag, `no value is at least ${min} and at most ${max}`);
  }
  return found;
}

/** Returns the members of a union, or the type itself, without parentheses and aliases. */
export function leavesOf(type: TypeNode | undefined): TypeNode[] {
  if (type === undefined) return [];
  if (Node.isParenthesizedTypeNode(type) || Node.isTypeOperatorTypeNode(type)) return leavesOf(type.getTypeNode());
  if (Node.isUnionTypeNode(type)) return type.getTypeNodes().flatMap(leavesOf);
  const alias = aliasOf(type);
  return alias === undefined || isRecursive(alias) ? [type] : leavesOf(alias.getTypeNode());
}

/** Returns the aliases in a type that are not inside of another type. */
export function aliasesOf(type: TypeNode | undefined, outer: readonly Node[] = []): TypeAliasDeclaration[] {
  if (type === undefined) return [];
  if (Node.isParenthesizedTypeNode(type) || Node.isTypeOperatorTypeNode(type)) {
    return aliasesOf(type.getTypeNode(), outer);
  }
  if (Node.isUnionTypeNode(type)) return type.getTypeNodes().flatMap((one) => aliasesOf(one, outer));
  const alias = aliasOf(type);
  return alias === undefined || outer.includes(alias)
    ? []
    : [alias, ...aliasesOf(alias.getTypeNode(), [...outer, alias])];
}

export function hasRules(node: Node): boolean {
  return tagsOf(node).some((tag) => Object.hasOwn(TAGS, tag.getTagName()));
}

function isRecursive(alias: TypeAliasDeclaration): boolean {
  return aliasesOf(alias.getTypeNode(), [alias]).length > 50;
}

/** Returns the alias that a type names, unless it is generic. */
function aliasOf(type: TypeNode): TypeAliasDeclaration | undefined {
  if (!Node.isTypeReference(type) || type.getTypeArguments().length > 0) return undefined;
  const symbol = type.getTypeName().getSymbol();
  const declarations = (symbol?.isAlias() ? symbol.getAliasedSymbol() : symbol)?.getDeclarations() ?? [];
  return declarations.find((one) => Node.isTypeAliasDeclaration(one));
}

function tagsOf(node: Node): JSDocTag[] {
  return Node.isJSDocable(node) ? node.getJsDocs().flatMap((doc) => doc.getTags()) : [];
}

/** Reads the value of a tag. Reports an error and returns `undefined` if it is invalid. */
function readRule(tag: JSDocTag, name: string, rule: keyof ValueRules, problems: Problems): ValueRules | undefined {
  const text = /^@\w+[ \t]*([^\r\n]*)/.exec(tag.getText())?.[1]?.replace(/\*\/$/, "").trim() ?? "";
  const fail = (problem: string): undefined => problems.error(tag, problem) as undefined;
  switch (rule) {
    case "int":
      return text === "" ? { int: true } : fail("@int takes no value; begin a line with the text");
    case "min":
    case "max": {
      const value = text === "" ? Number.NaN : Number(text);
      const isLength = TAGS[name]?.[0] !== "number";
      if (Number.isFinite(value) && (!isLength || (Number.isInteger(value) && value >= 0))) return { [rule]: value };
      return fail(`@${name} needs ${isLength ? "a whole number" : "a number"}, such as @${name} 1`);
    }
    case "pattern":
      if (text === "") return fail("@pattern needs a regular expression, such as @pattern ^[a-z]+$");
      if (/^\/\^.*\$\/\w*$/.test(text)) return fail(`${text} matches no text; @pattern takes it without slashes`);
      try {
        new RegExp(text, "u");
        return { pattern: text };
      } catch {
        return fail(`${text} is not a regular expression with the flag u; @pattern takes it without slashes`);
      }
    case "format": {
      const known = Object.hasOwn(FORMATS, text) ? FORMATS[text] : undefined;
      if (known !== undefined) return { format: known[0], pattern: known[1] };
      return fail(`@format is one of ${Object.keys(FORMATS).join(", ")}; use @pattern for others`);
    }
  }
}
