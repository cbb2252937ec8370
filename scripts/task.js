/**
 * Runs the commands of a task one after the other, until one fails: `node scripts/task.js NAME [ARGUMENT...]`. Arguments
 * are added to the last command. Installs missing packages first.
 */
import { delimiter, join } from "node:path";
import { runChild } from "./child.js";
import "./install.js";

const tasks = {
  demo: ["buf generate", "node scripts/run.js examples/demo/main.ts"],
  test: ["vitest run --project unit --project tools --project system --project isolated"],
  "test:unit": ["vitest run --project unit"],
  "test:packages": ["vitest run --project packages"],
  registries: ["vitest run --config test/registries/vitest.config.ts"],
  format: ["biome check --write .", "buf format --write"],
  lint: ["biome check .", "buf lint"],
  packages: [
    "node scripts/build.js",
    "publint --strict --pack npm",
    "publint --strict --pack npm runtime",
    "publint --strict --pack npm dubbo",
    "publint --strict --pack npm nest",
    "publint --strict --pack npm create",
    "attw --pack runtime --profile esm-only",
    "attw --pack dubbo --profile esm-only",
    "attw --pack nest --profile esm-only",
  ],
};

const [name = "", ...given] = process.argv.slice(2);
const commands = tasks[name];
if (commands === undefined) {
  console.error(`unknown task: ${name}; known are ${Object.keys(tasks).join(", ")}`);
  process.exit(2);
}

// npm runs scripts in the root of the repository.
const env = { ...process.env, PATH: `${join(process.cwd(), "node_modules", ".bin")}${delimiter}${process.env.PATH}` };
// Without a shell, a signal reaches the command itself. Windows needs a shell for the commands of packages.
const options = { env, shell: process.platform === "win32" };

for (const [index, command] of commands.entries()) {
  const [program, ...args] = command.split(" ");
  process.exitCode = await runChild(program, index === commands.length - 1 ? [...args, ...given] : args, options);
  if (process.exitCode !== 0) break;
}
