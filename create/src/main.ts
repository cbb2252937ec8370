#!/usr/bin/env node
/**
 * The program of `npm create triple-es`: creates a project from the parts in `templates`. Each part is a folder of files; the
 * answers to three questions choose the parts, and so does the package manager that started it, whose commands replace those of
 * npm. A line of a file may end with a comment that names a part, such as `// page`: it is kept, without the comment, if the
 * part was chosen. `// no page` is for the other case.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const TEMPLATES = fileURLToPath(new URL("../templates", import.meta.url));

const HELP = `create-triple-es: a project with a server, a client, a test and CI.

  npm create triple-es@latest [FOLDER] [-- FLAGS]

The folder is created, or must be empty; by default it is the current one. A question without a flag is asked.

  --contract proto|typescript             the language of the service; default: proto
  --page, --no-page                       with a page that calls the server; default: without
  --registry none|etcd|nacos|zookeeper    where clients find servers; default: none, one URL
  --yes, -y                               ask nothing: defaults for questions without a flag
  --help, -h                              print this text
`;

/** A question with its possible answers, the first of which is the default. */
interface Question {
  readonly text: string;
  readonly answers: readonly string[];
}

const QUESTIONS = {
  contract: { text: "Describe services in a proto file, or in TypeScript?", answers: ["proto", "typescript"] },
  page: { text: "Add a page that calls the server?", answers: ["no", "yes"] },
  registry: { text: "Register servers in a registry?", answers: ["none", "etcd", "nacos", "zookeeper"] },
} satisfies Record<string, Question>;

type Answers = Record<keyof typeof QUESTIONS, string>;

/** The commands of other package managers that differ from those of npm by more than the name. */
const COMMANDS: Record<string, Record<string, string>> = {
  pnpm: { "npm ci": "pnpm install --frozen-lockfile", npx: "pnpm exec" },
  yarn: { "npm ci": "yarn install --frozen-lockfile", npx: "yarn run" },
  // `bun test` is the runner of Bun.
  bun: { "npm ci": "bun install --frozen-lockfile", "npm test": "bun run test", npx: "bunx" },
};

/** A mistake of the user, whose message is printed without a stack. */
class UsageError extends Error {}

/** Ctrl+C or Ctrl+D while a question waits, which end the program as a signal does. */
class AbortedError extends Error {}

/** The comment at the end of a line that names the part it belongs to. */
const TAG = / (?:\/\/|#|<!--) (no )?(proto|typescript|page|registry|pnpm|yarn|bun)(?: -->)?$/;

/** The package manager that started this program, and its version. npm does so too if none is named. */
const [, MANAGER = "npm", VERSION = ""] =
  /^(pnpm|yarn|bun)\/(\d[^ ]*)/.exec(process.env["npm_config_user_agent"] ?? "") ?? [];

try {
  await main();
} catch (error) {
  if (error instanceof AbortedError) {
    console.error();
    // Not `exitCode`: the iterator of lines keeps the terminal open.
    process.exit(130);
  }
  if (!(error instanceof UsageError) && !(error as NodeJS.ErrnoException).code?.startsWith("E")) throw error;
  console.error(`create-triple-es: ${(error as Error).message}`);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { values, positionals } = readArguments();
  if (values.help) return console.log(HELP);
  if (positionals.length > 1) throw new UsageError(`one folder is expected, not ${positionals.join(" and ")}`);
  const folder = positionals[0] || ".";
  refuseUsed(folder);
  const answers = await ask(
    {
      contract: values.contract,
      page: values.page === undefined ? undefined : values.page ? "yes" : "no",
      registry: values.registry,
    },
    values.yes ?? false,
  );
  const files = create(folder, answers);
  console.log(describe(folder, answers, files));
}

function readArguments() {
  const options = {
    contract: { type: "string" },
    page: { type: "boolean" },
    registry: { type: "string" },
    yes: { type: "boolean", short: "y" },
    help: { type: "boolean", short: "h" },
  } as const;
  // pnpm and yarn pass the `--` on that npm needs before flags.
  const args = process.argv.slice(2).filter((arg) => arg !== "--");
  try {
    return parseArgs({ args, options, allowPositionals: true, allowNegative: true });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\nSee --help.`);
  }
}

/** Throws if a folder has files that the project could overwrite. A repository that was just created is empty. */
function refuseUsed(folder: string): void {
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name !== ".git") : [];
  if (names.length === 0) return;
  const some = names.slice(0, 3).join(", ");
  throw new UsageError(`the folder ${resolve(folder)} is not empty: it has ${some}. Name another folder`);
}

/** Completes the answers of flags with those of the user, or with the defaults. */
async function ask(given: Partial<Record<keyof Answers, string | undefined>>, useDefaults: boolean): Promise<Answers> {
  const names = Object.keys(QUESTIONS) as (keyof Answers)[];
  for (const name of names) {
    const { answers }: Question = QUESTIONS[name];
    const answer = given[name];
    if (answer !== undefined && !answers.includes(answer)) {
      throw new UsageError(`--${name} is one of ${answers.join(", ")}, not ${answer}`);
    }
  }
  const open = names.filter((name) => given[name] === undefined);
  const found = Object.fromEntries(names.map((name) => [name, given[name] ?? QUESTIONS[name].answers[0]])) as Answers;
  if (useDefaults || open.length === 0) return found;
  if (!process.stdin.isTTY) {
    const flags = open.map((name) => `--${name}`).join(", ");
    throw new UsageError(`there is no terminal to ask in: add ${flags}, or --yes for the defaults. See --help`);
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  // One iterator of all lines: `question` would lose those that are pasted at once.
  const lines = terminal[Symbol.asyncIterator]();
  const question = async (text: string): Promise<string> => {
    terminal.setPrompt(text);
    terminal.prompt();
    const { done, value } = await lines.next();
    if (done === true) throw new AbortedError();
    return value;
  };
  for (const name of open) found[name] = await askOne(QUESTIONS[name], question);
  terminal.close();
  return found;
}

/** Repeats a question until the reply is one of its answers, the beginning of one, or empty for the default. */
async function askOne({ text, answers }: Question, question: (text: string) => Promise<string>): Promise<string> {
  const [first, ...others] = answers;
  for (;;) {
    const reply = (await question(`${text} (${[`[${first}]`, ...others].join(" / ")}) `)).trim().toLowerCase();
    const answer = answers.find((one) => one.startsWith(reply));
    if (answer !== undefined) return answer;
  }
}

/** Writes the files of the chosen parts, and returns their paths. */
function create(folder: string, { contract, page, registry }: Answers): readonly string[] {
  const parts = ["common", contract];
  if (page === "yes") parts.push("page");
  if (registry !== "none") parts.push("registry", registry);
  // Before version 10, pnpm takes the settings of a single package from elsewhere.
  if (MANAGER === "yarn" || (MANAGER === "pnpm" && Number.parseInt(VERSION, 10) >= 10)) parts.push(MANAGER);
  const manifest: Manifest = { name: packageName(folder) };
  if (MANAGER !== "npm") manifest["packageManager"] = `${MANAGER}@${VERSION}`;
  const written: string[] = [];
  for (const part of parts) {
    const source = join(TEMPLATES, part);
    for (const path of filesIn(source)) {
      const text = forManager(readFileSync(join(source, path), "utf8"));
      if (path === "package.json") {
        merge(manifest, JSON.parse(text));
        continue;
      }
      // npm leaves files named .gitignore out of packages.
      const target = path.replace("gitignore", ".gitignore");
      write(join(folder, target), chooseLines(text, [...parts, MANAGER]));
      written.push(target);
    }
  }
  sortDependencies(manifest);
  write(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  return [...written, "package.json"];
}

/** The paths of all files below a folder. In a zip file, from which Yarn runs this program, entries have no `parentPath`. */
function* filesIn(folder: string, below = ""): Iterable<string> {
  for (const name of readdirSync(join(folder, below))) {
    const path = join(below, name);
    if (statSync(join(folder, path)).isDirectory()) yield* filesIn(folder, path);
    else yield path;
  }
}

/** Replaces the commands of npm by those of the package manager. */
function forManager(text: string): string {
  const commands = COMMANDS[MANAGER];
  return commands === undefined
    ? text
    : text.replace(/\b(?:npm ci|npm test|npx|npm)\b/g, (word) => commands[word] ?? word.replace("npm", MANAGER));
}

function write(path: string, text: string): void {
  makeFolder(dirname(path));
  // A file that has appeared in the meantime is an error.
  writeFileSync(path, text, { flag: "wx" });
}

/** Creates a folder and its parents. The recursion of `mkdirSync` never ends in a folder that takes none, such as `/proc`. */
function makeFolder(path: string): void {
  // The parent of a root is itself.
  if (existsSync(path) || dirname(path) === path) return;
  makeFolder(dirname(path));
  mkdirSync(path);
}

/** Removes the tags of lines, and the lines whose tags do not fit the chosen parts. */
function chooseLines(text: string, parts: readonly string[]): string {
  return text
    .split("\n")
    .filter((line) => {
      const [tag, not, part = ""] = TAG.exec(line) ?? [];
      return tag === undefined || parts.includes(part) === (not === undefined);
    })
    .map((line) => line.replace(TAG, ""))
    .join("\n");
}

type Manifest = { [field: string]: string | boolean | Manifest };

/** Adds the fields of a part to the manifest, which have objects of their own in common at most. */
function merge(manifest: Manifest, part: Manifest): void {
  for (const [field, value] of Object.entries(part)) {
    const known = manifest[field];
    manifest[field] = typeof known === "object" && typeof value === "object" ? { ...known, ...value } : value;
  }
}

/** Sorts dependencies as npm does when it changes them. */
function sortDependencies(manifest: Manifest): void {
  for (const kind of ["dependencies", "devDependencies"]) {
    const entries = Object.entries(manifest[kind] as Manifest);
    manifest[kind] = Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
  }
}

/** The name of the folder, if it can be that of a package. */
function packageName(folder: string): string {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-");
  return /^[a-z]/.test(name) ? name : "app";
}

/** Returns a folder as a word of a shell. */
function quoted(folder: string): string {
  return /^[\w./@][\w./@-]*$/.test(folder) ? folder : `'${folder.replaceAll("'", "'\\''")}'`;
}

/** Returns the summary of a created project, with the next commands. */
function describe(folder: string, { contract, page, registry }: Answers, files: readonly string[]): string {
  const answers = `${contract}, ${page === "yes" ? "a page" : "no page"}, ${registry === "none" ? "no registry" : registry}`;
  const commands = [
    ...(resolve(folder) === process.cwd() ? [] : [`cd ${quoted(folder)}`]),
    ...(registry === "none" ? [] : ["docker compose up -d"]),
    "npm install",
    "npm run dev",
    "npm run client    (in a second terminal)",
    "npm run build && npm start    (without the sources)",
  ];
  const lines = commands.map((line) => `  ${line}\n`).join("");
  return `Created ${files.length} files in ${resolve(folder)}: ${answers}.\n\n${forManager(lines)}`;
}
