/**
 * Writes the documents of the repository as pages of the site. Documents stay plain Markdown: only links change. A link to
 * another document leads to its page, and a link to another file of the repository to a copy of the file.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, posix } from "node:path";
import { homeOf } from "./home.ts";
import { assistantGuide } from "./llms.ts";
import { ADDRESSES, addressOf } from "./navigation.ts";

const IMAGE = /\.(?:png|svg)$/;
/** A fenced block, inline code, or a link. Only links have the groups. */
const CODE_OR_LINK = /^```.*?^```$|(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|\]\((?<target>[^)\s]+)(?<title> "[^"]*")?\)/gms;

/** Writes the pages of the documents of the repository `root` into the folder `pages`. Throws for an unlisted document. */
export function writePages(root: string, pages: string): void {
  const unlisted = readdirSync(join(root, "docs")).filter(
    (name) => name.endsWith(".md") && !ADDRESSES.has(`docs/${name}`),
  );
  if (unlisted.length > 0) throw new Error(`site/navigation.ts does not list docs/${unlisted.join(", docs/")}`);
  rmSync(pages, { recursive: true, force: true });
  mkdirSync(pages, { recursive: true });
  const documents = new Set(ADDRESSES.keys());
  const read = (path: string): string => readFileSync(join(root, path), "utf8");
  const readme = read("README.md");
  writeFileSync(join(pages, "index.md"), withoutNotes(rewriteLinks(homeOf(readme), "README.md", linkTo)));
  // Links are relative, because the site may have a base path.
  const relativeTo = (path: string): string => copyOf(root, path, join(pages, "public")).slice(1);
  writeFileSync(join(pages, "public/llms.txt"), rewriteLinks(assistantGuide(read), "README.md", relativeTo));
  // Linked documents that the navigation does not list, such as those of examples, are added during the iteration.
  for (const document of documents) {
    const file = join(pages, `${addressOf(document)}.md`);
    mkdirSync(dirname(file), { recursive: true });
    const text = read(document);
    const linkFrom = (path: string): string => {
      if (existsSync(join(root, path))) return linkTo(path);
      throw new Error(`${document}: dead link: ${path}`);
    };
    writeFileSync(file, withoutNotes(rewriteLinks(text, document, linkFrom)));
  }

  function linkTo(path: string): string {
    if (path.endsWith(".md")) {
      documents.add(path);
      return `${addressOf(path)}.md`;
    }
    return copyOf(root, path, join(pages, "public"));
  }
}

/**
 * Removes the notes of the tests after the language of a block, such as `from=a/v1/b.proto`: VitePress reads a number between
 * slashes there as a line to highlight.
 */
export function withoutNotes(text: string): string {
  return text.replaceAll(/^(```\w+) .*$/gm, "$1");
}

/** Replaces the targets of all links to files. `linkTo` gets the path of a target in the repository. */
export function rewriteLinks(text: string, document: string, linkTo: (path: string) => string): string {
  return text.replaceAll(CODE_OR_LINK, (...match) => {
    const [found] = match;
    const { target, title = "" } = match.at(-1);
    if (target === undefined || /^(?:[a-z]+:|#)/.test(target)) return found;
    const [file, anchor] = target.split("#");
    const path = posix.join(posix.dirname(document), decodeURIComponent(file));
    return `](${linkTo(path)}${anchor === undefined ? "" : `#${anchor}`}${title})`;
  });
}

/** Copies an image, another file as text, or the list of a folder's files. Returns the address of the copy. */
function copyOf(root: string, path: string, folder: string): string {
  const name = `/files/${path.replace(/\/$/, "")}${IMAGE.test(path) ? "" : ".txt"}`;
  const copy = join(folder, name);
  mkdirSync(dirname(copy), { recursive: true });
  const source = join(root, path);
  if (statSync(source).isFile()) copyFileSync(source, copy);
  else writeFileSync(copy, filesIn(source).join("\n"));
  return name.split("/").map(encodeURIComponent).join("/");
}

/** The paths of the files of a folder, without those of installed packages and of builds. */
function filesIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => !/(?:^|[\\/])(?:node_modules|dist)(?:[\\/]|$)/.test(name)).sort();
}
