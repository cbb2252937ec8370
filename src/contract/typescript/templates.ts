/** The expressions that texts of template types match, such as those of `user-${number}`. */
import { type Node, type Type, ts } from "ts-morph";
import type { ValueRules, WireType } from "./wire-type.ts";

const NUMBER = "-?\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?";

/** Returns the rules of a template at a node, whose name is its text; `undefined` if it contains others than strings and numbers. */
export function templateRules(type: Type, node: Node): ValueRules | undefined {
  const { texts, types } = type.compilerType as ts.TemplateLiteralType;
  const parts = types.map((one, index) => placeholder(one, texts[index + 1] as string, index === types.length - 1));
  if (parts.includes(undefined)) return undefined;
  const rest = parts.map((part, index) => part + literalPattern(texts[index + 1] as string)).join("");
  return { pattern: `^${literalPattern(texts[0] as string)}${rest}$`, format: type.getText(node) };
}

/** Returns the expression of a placeholder. As in the compiler, text ends at the first `next`, so that nothing is tried twice. */
function placeholder(type: ts.Type, next: string, isLast: boolean): string | undefined {
  const base = type.isIntersection() ? (type.types.find(({ flags }) => flags & KEY_FLAGS) ?? type) : type;
  if (base.flags & ts.TypeFlags.Number) return NUMBER;
  if (base.flags & ts.TypeFlags.BigInt) return "-?\\d+";
  if (!(base.flags & ts.TypeFlags.String)) return undefined;
  if (isLast) return "[\\s\\S]*";
  if (next === "") return "[\\s\\S]";
  return [...next].length === 1
    ? `[^${next.replace(/[\\\]^-]/, "\\$&")}]*`
    : `(?:(?!${literalPattern(next)})[\\s\\S])*`;
}

const KEY_FLAGS = ts.TypeFlags.String | ts.TypeFlags.Number | ts.TypeFlags.BigInt;

/** Joins templates and constants to text that matches any of them. Returns `undefined` if there are other types. */
export function joinTemplates(types: readonly WireType[]): WireType | undefined {
  const all = types.map((type): ValueRules | undefined => {
    if (type.kind === "constant")
      return {
        pattern: constantPattern(type.values),
        format: type.values.map((one) => JSON.stringify(one)).join(" or "),
      };
    const isTemplate =
      type.kind === "string" && type.rules.format?.startsWith("`") && Object.keys(type.rules).length === 2;
    return isTemplate ? type.rules : undefined;
  });
  if (all.includes(undefined)) return undefined;
  const join = (rule: "pattern" | "format", by: string): string => all.map((one) => one?.[rule]).join(by);
  return { kind: "string", rules: { pattern: join("pattern", "|"), format: join("format", " or ") } };
}

/** Returns the expression that matches constants. */
export function constantPattern(values: readonly unknown[]): string {
  return `^(?:${values.map((value) => literalPattern(String(value))).join("|")})$`;
}

function literalPattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
