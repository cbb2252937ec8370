/**
 * Checks a built site: every link and anchor has a target, and nothing is loaded from another host.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

const ID = /\sid="([^"]+)"/g;
const LINK = /<a\b[^>]*\shref="([^"]*)"/g;
/** Elements that load their target. */
const LOAD = /<(?:script|img|iframe|source|video|audio|embed|link)\b[^>]*\s(?:src|href)="([^"]*)"/g;
const STYLE_LOAD = /(?:@import\s+(?:url\()?|url\()["']?([^"')\s]+)/g;
/** Statements and calls of scripts that load a literal address. */
const SCRIPT_LOAD =
  /(?:\bimport\s*\(?|\bfrom|\bfetch\(|\bimportScripts\(|new (?:Worker|WebSocket|EventSource)\()\s*["'`]((?:https?:|wss?:)?\/\/[^"'`]+)/g;

/** The problems of the site in the folder, a line each; none if it is right. `path` is the path that it is served under. */
export function checkSite(folder: string, path = "/"): string[] {
  // VitePress adds the slash too.
  const base = path.replace(/\/?$/, "/");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => name.replaceAll("\\", "/"));
  const existing = new Set(files);
  const pages = new Map(
    files.filter((name) => name.endsWith(".html")).map((name) => [name, readFileSync(join(folder, name), "utf8")]),
  );
  const anchors = new Map([...pages].map(([name, html]) => [name, new Set(all(html, ID).map(decode))]));
  const problems = new Set<string>();
  for (const [name, html] of pages) {
    for (const target of [...all(html, LINK), ...all(html, LOAD)].map(decode)) {
      const problem = problemOf(target, name);
      if (problem !== undefined) problems.add(`${name}: ${problem}: ${target}`);
    }
    for (const target of all(html, LOAD).map(decode)) {
      if (isForeign(target)) problems.add(`${name}: loads from another host: ${target}`);
    }
  }
  for (const name of files) {
    const loads = name.endsWith(".css") ? STYLE_LOAD : name.endsWith(".js") ? SCRIPT_LOAD : undefined;
    if (loads === undefined) continue;
    for (const target of all(readFileSync(join(folder, name), "utf8"), loads)) {
      if (isForeign(target)) problems.add(`${name}: loads from another host: ${target}`);
    }
  }
  return [...problems];

  function problemOf(target: string, from: string): string | undefined {
    if (/^(?:[a-z][a-z+.-]*:|\/\/)/i.test(target)) return undefined;
    const [path = "", anchor = ""] = target.split("#");
    if (path.startsWith("/") && !path.startsWith(base)) return "outside of the site";
    const file = path === "" ? from : fileOf(path, from);
    if (!existing.has(file)) return "dead link";
    const ids = anchors.get(file);
    if (anchor === "" || ids === undefined || ids.has(decodeURIComponent(anchor))) return undefined;
    return "dead anchor";
  }

  function fileOf(path: string, from: string): string {
    const [clean = ""] = decodeURIComponent(path).split("?");
    const file = clean.startsWith("/") ? clean.slice(base.length) : posix.join(posix.dirname(from), clean);
    return file === "" || file.endsWith("/") ? `${file}index.html` : file;
  }
}

function isForeign(target: string): boolean {
  return /^(?:https?:|wss?:)?\/\//i.test(target);
}

function all(text: string, pattern: RegExp): string[] {
  return Array.from(text.matchAll(pattern), ([, found = ""]) => found);
}

function decode(text: string): string {
  return text
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}
