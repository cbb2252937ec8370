#!/usr/bin/env node
/** The executable `triple-es`, for commands that need more of a project than buf and protoc pass to a plugin. */
import { fileURLToPath } from "node:url";
import { type Arguments, ArgumentsError, type CommandName, commandHelp, readArguments } from "./contract/arguments.ts";
import type { Outcome } from "./contract/command.ts";
import { MIGRATE_HELP, readMigrateArguments } from "./migrate/arguments.ts";
import { suggestion } from "./print/did-you-mean.ts";
import { REPLAY_HELP, readReplayArguments } from "./replay/arguments.ts";
import { version } from "./version.ts";

const usage = `triple-es: services without a proto file, migration from other libraries, and replay of calls.

  triple-es contract src/api.ts                          clients, servers and validators for interfaces of TypeScript
  triple-es interface './contracts/**/*.ts' --out gen    the same for interfaces of Java, which Dubbo serves
  triple-es migrate connect-es                           rewrites a project of Connect; also grpc-js, nice-grpc
  triple-es replay calls.jsonl --url http://host:port    sends recorded calls to another build, and lists differences
  triple-es contract --help, and of the others           their flags
  triple-es --version                                    the version
`;

const COMMANDS = ["interface", "contract", "migrate", "replay"] as const;
const isCommand = (name: string): name is (typeof COMMANDS)[number] => COMMANDS.some((one) => one === name);

// A reader that closes the pipe early, such as head, must not cause a crash or a stack trace.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

const { status, stdout, stderr } = await run(process.argv.slice(2));
process.stdout.write(stdout);
process.stderr.write(stderr);
process.exitCode = status;

async function run([command, ...rest]: readonly string[]): Promise<Outcome> {
  if (command === "--version" || command === "-v") return { status: 0, stdout: `triple-es ${version}\n`, stderr: "" };
  if (command === "--help" || command === "-h" || command === "help") return { status: 0, stdout: usage, stderr: "" };
  if (command === undefined) return { status: 1, stdout: "", stderr: usage };
  if (!isCommand(command)) {
    return failure(`there is no command "${command}"${suggestion(command, COMMANDS) || "; see triple-es --help"}`);
  }
  try {
    if (command === "migrate") return await migrate(rest);
    if (command === "replay") return await replay(rest);
    const args = readArguments(rest, command);
    if (args === "help") return { status: 0, stdout: commandHelp(command), stderr: "" };
    return await runCommand(command, args);
  } catch (error) {
    if (error instanceof ArgumentsError || isOfSystem(error)) return failure(error.message);
    throw error;
  }
}

async function migrate(rest: readonly string[]): Promise<Outcome> {
  const args = readMigrateArguments(rest);
  if (args === "help") return { status: 0, stdout: MIGRATE_HELP, stderr: "" };
  const { runMigrate } = await withCompiler("migrate", () => import("./migrate/migrate.ts"));
  return runMigrate(args, process.cwd());
}

async function replay(rest: readonly string[]): Promise<Outcome> {
  const args = readReplayArguments(rest);
  if (args === "help") return { status: 0, stdout: REPLAY_HELP, stderr: "" };
  const { runReplay } = await import("./replay/replay.ts");
  return runReplay(args, process.cwd());
}

/** Runs a command for contracts. */
async function runCommand(command: CommandName, args: Arguments): Promise<Outcome> {
  const { runContract, runInterface, watchContract } = await withCompiler(
    command,
    () => import("./contract/commands.ts"),
  );
  if (command === "interface") return runInterface(args, process.cwd());
  const support = fileURLToPath(new URL("triple-contract.ts", import.meta.url));
  if (!args.watch) return runContract(args, process.cwd(), support);
  watchContract(args, process.cwd(), support, ({ stdout, stderr }) => {
    process.stdout.write(stdout);
    process.stderr.write(stderr);
  });
  return { status: 0, stdout: "", stderr: "" };
}

/** Loads the module of a command. They are loaded on demand, because they load ts-morph, an optional peer dependency. */
async function withCompiler<Module>(command: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "ERR_MODULE_NOT_FOUND" || !message.includes("'ts-morph'")) throw error;
    throw new ArgumentsError(
      `${command} reads TypeScript with ts-morph, which is not installed: npm install --save-dev ts-morph`,
    );
  }
}

/**
 * Reports whether the error comes from the file system, such as a folder that is not writable or a path that is a file.
 */
function isOfSystem(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}

function failure(message: string): Outcome {
  const lines = message.split("\n").map((line) => `triple-es: ${line}\n`);
  return { status: 1, stdout: "", stderr: lines.join("") };
}
