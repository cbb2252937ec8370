/**
 * The arguments of `triple-es interface` and `triple-es contract`: parsing, validation and help texts.
 */
import { parseArgs } from "node:util";
import type { Target } from "../print/declaration.ts";
import { suggestion } from "../print/did-you-mean.ts";
import type { PathOptions } from "../print/imports.ts";

export interface Arguments {
  /** Paths and globs of contracts. A pattern that begins with `!` excludes files. */
  readonly patterns: readonly string[];
  readonly out: string | undefined;
  readonly java: boolean;
  readonly check: boolean;
  readonly targets: readonly Target[];
  readonly importExtension: PathOptions["importExtension"];
  readonly root: string | undefined;
  readonly project: string | undefined;
  readonly openapi: boolean;
  readonly proto: string | undefined;
  readonly watch: boolean;
}

export type CommandName = "interface" | "contract";

interface Flag {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly usage: string;
  readonly meaning: string;
  /** Returns the reason why a value is invalid; `undefined` for a valid value. */
  readonly check?: (value: string) => string | undefined;
}

type Flags = Readonly<Record<string, Flag>>;

/** The flags of both commands. */
const shared: Flags = {
  "import-extension": {
    type: "string",
    usage: "--import-extension js",
    meaning: "extension of relative imports: js, ts or none; default js",
    check: (value) => (["js", "ts", "none"].includes(value) ? undefined : "js, ts or none"),
  },
  root: {
    type: "string",
    usage: "--root contracts",
    meaning: "the folder that --out corresponds to; default: the deepest common folder of all patterns",
  },
  project: {
    type: "string",
    usage: "--project tsconfig.json",
    meaning: "a tsconfig with the paths and module resolution of contracts; default: those of bundlers",
  },
  check: { type: "boolean", usage: "--check", meaning: "write nothing, and fail if a file is not up to date" },
  help: { type: "boolean", short: "h", usage: "--help", meaning: "print this text" },
};

const FLAGS: Readonly<Record<CommandName, Flags>> = {
  interface: {
    out: { type: "string", usage: "--out gen", meaning: "the folder to write to; with --java it may be left out" },
    target: {
      type: "string",
      usage: "--target ts",
      meaning: "what to write: ts, js, dts, or several joined with +; default ts",
      check: (value) =>
        value.split("+").every((part) => ["ts", "js", "dts"].includes(part)) ? undefined : "ts, js, dts, or js+dts",
    },
    java: { type: "boolean", usage: "--java", meaning: "print the Java side, or write it to --out" },
    ...shared,
  },
  contract: {
    out: { type: "string", usage: "--out gen", meaning: "the folder to write to; default: beside the contracts" },
    openapi: { type: "boolean", usage: "--openapi", meaning: "also write an OpenAPI document for each contract" },
    proto: {
      type: "string",
      usage: "--proto shop.proto",
      meaning: "also write a proto file with the same JSON, which keeps the numbers of its fields",
      check: (value) => (value.endsWith(".proto") ? undefined : "a path that ends with .proto"),
    },
    watch: { type: "boolean", short: "w", usage: "--watch", meaning: "write again whenever a contract changes" },
    ...shared,
  },
};

const HEADS: Readonly<Record<CommandName, string>> = {
  interface: `triple-es interface: clients and servers for services that Dubbo declares in Java, from TypeScript interfaces.

  triple-es interface './contracts/**/*.ts' --out gen

Reads exported interfaces with the tag @service, and writes a file for each contract. Quote patterns, so that the
shell leaves them alone. A pattern that begins with ! leaves files out.
`,
  contract: `triple-es contract: clients, servers and validators for services that are declared in TypeScript.

  triple-es contract src/api.ts --watch

Reads exported interfaces with methods, and writes a file for each contract. Quote patterns, so that the shell leaves
them alone. A pattern that begins with ! leaves files out.
`,
};

/** Returns the help text of a command. */
export function commandHelp(command: CommandName): string {
  const lines = Object.values(FLAGS[command]).map(({ usage, meaning }) => `  ${usage.padEnd(25)} ${meaning}\n`);
  return `${HEADS[command]}\nFlags:\n${lines.join("")}`;
}

/** Invalid arguments. The message lists all of them. */
export class ArgumentsError extends Error {
  override readonly name = "ArgumentsError";
}

/** Parses arguments. Returns `help` if they ask for help. Throws an `ArgumentsError` that lists all errors. */
export function readArguments(args: readonly string[], command: CommandName = "interface"): Arguments | "help" {
  const flags = FLAGS[command];
  const { tokens } = parseArgs({ args: [...args], options: { ...flags }, strict: false, tokens: true });
  const mistakes: string[] = [];
  const values = new Map<string, string>();
  const patterns: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") patterns.push(token.value);
    if (token.kind !== "option") continue;
    const { name, rawName, value } = token;
    const mistake =
      mistakeOf(flags, name, rawName, value) ?? (values.has(name) ? `${rawName} is given twice` : undefined);
    if (mistake !== undefined) mistakes.push(mistake);
    values.set(name, value ?? "");
  }
  if (values.has("help") && mistakes.length === 0) return "help";
  if (patterns.every((pattern) => pattern.startsWith("!")))
    mistakes.push("no contracts are given, such as ./contracts/**/*.ts");
  if (command === "interface" && !values.has("out") && !values.has("java"))
    mistakes.push("--out is missing: the folder to write to");
  if (command === "interface" && !values.has("out") && values.has("check"))
    mistakes.push("--check needs --out, the folder to check");
  if (values.has("java") && values.has("target")) mistakes.push("--target cannot be used with --java");
  if (values.has("watch") && values.has("check")) mistakes.push("--check cannot be used with --watch");
  if (mistakes.length > 0) throw new ArgumentsError(mistakes.join("\n"));
  return {
    patterns,
    out: values.get("out"),
    java: values.has("java"),
    check: values.has("check"),
    targets: [...new Set((values.get("target") ?? "ts").split("+"))] as Target[],
    importExtension: (values.get("import-extension") ?? "js") as PathOptions["importExtension"],
    root: values.get("root"),
    project: values.get("project"),
    openapi: values.has("openapi"),
    proto: values.get("proto"),
    watch: values.has("watch"),
  };
}

function mistakeOf(flags: Flags, name: string, rawName: string, value: string | undefined): string | undefined {
  const flag = Object.hasOwn(flags, name) ? flags[name] : undefined;
  if (flag === undefined) {
    const known = Object.keys(flags).map((one) => `--${one}`);
    return `there is no flag ${rawName}${suggestion(name, known)}`;
  }
  if (flag.type === "boolean") return value === undefined ? undefined : `${rawName} takes no value`;
  if (value === undefined || value === "") return `${rawName} needs a value, such as ${flag.usage}`;
  const wanted = flag.check?.(value);
  return wanted === undefined ? undefined : `${rawName} must be ${wanted}, not ${value}`;
}
