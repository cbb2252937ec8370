/** The files of a project besides its code: package.json and buf.gen.yaml. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "../version.ts";
import type { Kind, Left } from "./migration.ts";

interface ProjectFiles {
  readonly changed: (readonly [file: string, text: string])[];
  readonly left: Left[];
}

/** Migrates the files in a folder. Old packages stay in package.json while code uses them. */
export function migrateProjectFiles(folder: string, kind: Kind, isUsed: (name: string) => boolean): ProjectFiles {
  const result: ProjectFiles = { changed: [], left: [] };
  const write = (
    name: string,
    migrate: (text: string, left: (line: number, message: string) => void) => string,
  ): void => {
    const file = join(folder, name);
    if (!existsSync(file)) return;
    const text = readFileSync(file, "utf8");
    const after = migrate(text, (line, message) => void result.left.push({ file, line, message }));
    if (after !== text) result.changed.push([file, after]);
  };
  write("package.json", (text) => manifest(text, kind, isUsed));
  write("buf.gen.yaml", (text, left) => bufTemplate(text, kind, left));
  return result;
}

const OWN = `^${version.replace("v", "")}`;

type Versions = Record<string, string>;

function manifest(text: string, kind: Kind, isUsed: (name: string) => boolean): string {
  const json = JSON.parse(text) as { dependencies?: Versions; devDependencies?: Versions };
  const { dependencies = {}, devDependencies = {} } = json;
  const old = [...kind.packages, ...kind.tools];
  if (![...Object.keys(dependencies), ...Object.keys(devDependencies)].some((name) => old.includes(name))) return text;
  const update = (versions: Versions, added: Versions): Versions => {
    const kept = Object.entries(versions).filter(([name]) => !old.includes(name) || isUsed(name));
    return Object.fromEntries(
      Object.entries({ ...added, ...Object.fromEntries(kept) }).sort(([a], [b]) => (a < b ? -1 : 1)),
    );
  };
  json.dependencies = update(dependencies, { "@bufbuild/protobuf": "^2.7.0", "triple-es": OWN });
  json.devDependencies = update(devDependencies, {
    "@bufbuild/protoc-gen-es": "^2.2.0",
    "protoc-gen-triple-es": OWN,
  });
  const [, indent = "  "] = /^\{\s*\n([ \t]+)/.exec(text) ?? [];
  return `${JSON.stringify(json, undefined, indent)}\n`;
}

/** Adds protoc-gen-triple-es beside protoc-gen-es, or both in place of another plugin. */
function bufTemplate(text: string, { plugins }: Kind, left: (line: number, message: string) => void): string {
  if (text.includes("protoc-gen-triple-es")) return text;
  const lines = text.split("\n");
  const isItem = (line: string | undefined): boolean => line?.trimStart().startsWith("- ") ?? false;
  const start = lines.findIndex(
    (line) => isItem(line) && ["protoc-gen-es", "bufbuild/es", ...plugins].some((name) => line.includes(name)),
  );
  if (start < 0) {
    left(1, "add the plugins protoc-gen-es and protoc-gen-triple-es");
    return text;
  }
  const indentOf = (line: string): number => line.length - line.trimStart().length;
  const indent = indentOf(lines[start] ?? "");
  const rest = lines
    .slice(start + 1)
    .findIndex(
      (line) => line.trim() !== "" && (indentOf(line) < indent || (indentOf(line) === indent && isItem(line))),
    );
  const end = rest < 0 ? lines.length : start + 1 + rest;
  const block = lines.slice(start, end);
  const isReplaced = plugins.some((name) => block[0]?.includes(name));
  const out = block.find((line) => line.trimStart().startsWith("out:"))?.trim() ?? "out: src/gen";
  const options = isReplaced ? ["target=ts", "import_extension=js"] : optionsOf(block);
  const pad = " ".repeat(indent);
  const entry = (name: string, more: readonly string[] = []): string[] => [
    `${pad}- local: ${name}`,
    `${pad}  ${out}`,
    ...more,
    `${pad}  opt: [${options.join(", ")}]`,
  ];
  const own = entry("protoc-gen-triple-es", [`${pad}  strategy: all`]);
  lines.splice(
    start,
    block.length,
    ...(isReplaced ? entry("protoc-gen-es") : block.filter((line, i) => i < block.length - 1 || line !== "")),
    ...own,
    ...(end === lines.length && block.at(-1) === "" ? [""] : []),
  );
  return lines.join("\n");
}

/** The options of protoc-gen-es that protoc-gen-triple-es has too. */
function optionsOf(block: readonly string[]): string[] {
  const words = block.join(" ").split(/[\s,[\]"']/);
  return words.filter((word) => ["target=", "import_extension="].some((name) => word.startsWith(name)));
}
