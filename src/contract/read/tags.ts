/**
 * JSDoc of contracts: the author's text, and the tags that determine the Java declaration.
 */
import type { JSDoc, JSDocTag } from "ts-morph";
import { prose } from "../../print/jsdoc.ts";
import type { Problems } from "../model/diagnostics.ts";
import { isAscii, isException } from "../model/java-name.ts";

/** The tags with a value that the command reads. */
export type TagName = "service" | "group" | "version" | "serialization" | "method" | "class" | "enum";

interface Documentable {
  getJsDocs(): JSDoc[];
}

/**
 * Returns the value of a tag, which is one word; `undefined` without the tag. The value is read from the text, because
 * the compiler parses a type after some tags.
 */
export function tagValue(node: Documentable, name: TagName, problems: Problems): string | undefined {
  const [tag, again] = tagsOf(node, name);
  if (tag === undefined) return undefined;
  if (again !== undefined) problems.error(again, `there is another @${name} before this one`);
  const [, value, rest = ""] = /^@\w+[ \t]+(\S+)[ \t]*([^\r\n]*)/.exec(tag.getText()) ?? [];
  if (value === undefined || value === "*/") {
    problems.error(tag, `@${name} needs a value, such as @${name} ${examples[name]}`);
    return undefined;
  }
  const more = rest.replace(/\*\/$/, "").trim();
  if (more !== "")
    problems.error(tag, `@${name} takes one value, but "${more}" follows ${value}; begin a line with it`);
  if ((name === "group" || name === "version") && !isAscii(value)) {
    problems.error(tag, `@${name} is sent in a header field, which takes ASCII only`);
  }
  return value;
}

const examples: Readonly<Record<TagName, string>> = {
  service: "com.acme.GreetService",
  group: "blue",
  version: "1.0.0",
  serialization: "hessian2",
  method: "sayHi",
  class: "com.acme.User",
  enum: "com.acme.Color",
};

export function hasTag(node: Documentable, name: TagName | "deprecated"): boolean {
  return tagsOf(node, name).length > 0;
}

/** Returns the author's text as lines, without tags. */
export function commentOf(node: Documentable): string[] {
  return node.getJsDocs().flatMap((doc) => proseLines(doc.getDescription()));
}

/** Returns the exceptions that a method throws: the full class names after `@throws`. */
export function exceptionsOf(node: Documentable): string[] {
  const names = tagsOf(node, "throws").map((tag) => /^\S*/.exec(exceptionFirst(wordsOf(tag)))?.[0] ?? "");
  return [...new Set(names.filter(isException))];
}

/** Returns the author's text on parameters, result and exceptions, one line for each. */
export function parameterDocs(node: Documentable): string[] {
  return node
    .getJsDocs()
    .flatMap((doc) => doc.getTags())
    .filter((tag) => ["param", "returns", "throws"].includes(tag.getTagName()))
    .map((tag) => `@${tag.getTagName()} ${exceptionFirst(wordsOf(tag))}`.trimEnd());
}

/** Removes the braces of `{com.acme.Oops} if …`, a syntax of older tools. */
function exceptionFirst(words: string): string {
  const [braced = "", name = ""] = /^\{\s*([^\s{}]+)\s*\}/.exec(words) ?? [];
  return isException(name) ? name + words.slice(braced.length) : words;
}

/** Returns the text after `@deprecated`. */
export function deprecationOf(node: Documentable): string {
  return tagsOf(node, "deprecated").map(wordsOf).join(" ");
}

/** Returns the text after a tag, on one line. */
function wordsOf(tag: JSDocTag): string {
  const lines = tag
    .getText()
    .replace(/^@\w+/, "")
    .split(/\r?\n[ \t]*\*?/);
  return prose(lines.map((line) => line.trim()).join(" ")).trim();
}

function tagsOf(node: Documentable, name: string): JSDocTag[] {
  return node.getJsDocs().flatMap((doc) => doc.getTags().filter((tag) => tag.getTagName() === name));
}

function proseLines(text: string): string[] {
  const lines = text.split(/\r?\n/).map((line) => prose(line).trimEnd());
  const isText = (line: string): boolean => line !== "";
  return lines.slice(Math.max(lines.findIndex(isText), 0), lines.findLastIndex(isText) + 1);
}
