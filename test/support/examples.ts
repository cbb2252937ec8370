/**
 * The examples that are projects with their own packages: folders of `examples` with a `package.json`. They are run as users
 * run them, with the runtime that `npm run build` has built. CONTRIBUTING.md describes how to install their packages.
 */
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";
import { ROOT } from "./documents.ts";
import { environment, type Program, startProgram } from "./program.ts";

const run = promisify(execFile);
const FOLDER = join(ROOT, "examples");
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");

/** The names of all examples. The files of `monorepo` are a template, whose packages its own test links. */
export const EXAMPLES: readonly string[] = readdirSync(FOLDER).filter(
  (name) => name !== "monorepo" && existsSync(join(FOLDER, name, "package.json")),
);

/** Returns true if the packages of the example are installed; otherwise prints that its tests are skipped. */
export function isExampleInstalled(name: string): boolean {
  const isInstalled = existsSync(join(FOLDER, name, "node_modules"));
  if (!isInstalled) console.warn(`skipped: examples/${name}; CONTRIBUTING.md says how to install it`);
  return isInstalled;
}

/** Builds the runtime, which takes less than a second if it is up to date, and checks the example's types. */
export async function prepareExample(name: string): Promise<void> {
  await run("npm", ["run", "--silent", "build", "--", "runtime", "dubbo", "nest"], { cwd: ROOT });
  const tsc = run(process.execPath, [TSC, "--noEmit", "-p", join(FOLDER, name)]);
  await tsc.catch(({ stdout }) => {
    throw new Error(`examples/${name} has type errors:\n${stdout}`);
  });
}

/** Runs `npm run SCRIPT` of the example until it ends, and returns its output. */
export async function runExample(name: string, script: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const options = { cwd: join(FOLDER, name), env: environment(env) };
  return (await run("npm", ["run", "--silent", script], options)).stdout;
}

/** A running program of an example. */
export interface RunningExample {
  /** The first URL that it printed, without a path. */
  readonly url: string;
  /** Ends it, as {@link Program.stop} does. */
  readonly stop: () => Promise<void>;
}

/**
 * Starts `npm run SCRIPT` of the example, which serves the port of the variable PORT, by default a free one. Resolves when it
 * has printed a URL of this machine. The function that stops it is passed to `onEnd`, by default to stop it when the
 * test ends.
 */
export async function startExample(
  name: string,
  script = "start",
  env: NodeJS.ProcessEnv = {},
  onEnd: (stop: () => Promise<void>) => void = onTestFinished,
): Promise<RunningExample> {
  const program: Program = startProgram(name, ["npm", "run", "--silent", script], { PORT: "0", ...env });
  const stop = async (): Promise<void> => void (await program.stop());
  onEnd(stop);
  // workerd prints the port in JSON.
  const [, url, port] = await program.line(/(http:\/\/localhost:\d+)|"port":(\d+)/);
  return { url: url ?? `http://localhost:${port}`, stop };
}
