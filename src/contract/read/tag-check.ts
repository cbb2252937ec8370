/**
 * Warnings about tags that would be ignored: misspelled tags, and tags in comments that the compiler does not attach.
 */
import type { JSDoc, SourceFile } from "ts-morph";
import { nearestName } from "../../print/did-you-mean.ts";
import type { Problems } from "../model/diagnostics.ts";

const ofDeclarations = ["service", "group", "version", "serialization", "class", "enum"];
const ofMethods = ["method", "throws"];
/** Tags of other tools that differ by one or two letters from a tag of contracts. */
const others = ["prop"];

export function checkTags(file: SourceFile, problems: Problems): void {
  const interfaces = file.getInterfaces();
  const declarations = [...interfaces, ...file.getClasses(), ...file.getTypeAliases(), ...file.getEnums()];
  for (const node of declarations) checkSpelling(node, ofDeclarations, problems);
  for (const node of interfaces.flatMap((one) => one.getMethods())) checkSpelling(node, ofMethods, problems);
  checkPlaces(file, /^[/* \t]*@(service|class|enum|method)\b/m, problems);
}

function checkSpelling(node: { getJsDocs(): JSDoc[] }, names: readonly string[], problems: Problems): void {
  for (const tag of node.getJsDocs().flatMap((doc) => doc.getTags())) {
    const name = tag.getTagName();
    if (names.includes(name) || others.includes(name)) continue;
    const meant = nearestName(name, names);
    if (meant !== undefined) problems.warn(tag, `@${name} is unknown, did you mean @${meant}?`);
  }
}

/**
 * Reports comments with tags that the compiler does not attach. It attaches a comment to the next declaration only if
 * nothing else precedes the declaration on its line.
 */
export function checkPlaces(file: SourceFile, tags: RegExp, problems: Problems): void {
  const text = file.getFullText();
  let isFirst = true;
  let end = 0;
  for (let start = text.indexOf("/**"); start >= 0; start = text.indexOf("/**", end)) {
    const before = text.slice(end, start);
    isFirst = /\S/.test(before.slice(before.lastIndexOf("\n") + 1)) ? false : isFirst || before.includes("\n");
    end = text.indexOf("*/", start + 2) + 2;
    if (end < 2) return;
    const [, tag] = tags.exec(text.slice(start, end)) ?? [];
    if (tag === undefined || isFirst) continue;
    const remedy = "begin a line with it";
    problems.warnAt(file, start, `@${tag} is ignored in a comment that does not begin its line; ${remedy}`);
  }
}
