/** The processes that the scripts start. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { ROOT } from "../support/documents.ts";

/** Runs a program that can call `runGroup`. Returns its result, printed as JSON, and what the commands printed. */
async function run(call: string): Promise<{ result: unknown; printed: string }> {
  const program = `import { runGroup } from "./scripts/child.js";\nconsole.log("\\n" + JSON.stringify(${call}));`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], { cwd: ROOT, stdio: "pipe" });
  const [output] = await Promise.all([text(child.stdout), once(child, "exit")]);
  const lines = output.trimEnd().split("\n");
  return { result: JSON.parse(lines.pop() ?? ""), printed: lines.join("\n").trim() };
}

const QUIET = `{ stderr: "pipe", print: () => {} }`;

it("runGroup prints the output of a command, and returns it with the exit code", async () => {
  const { result, printed } = await run('await runGroup("echo a; exit 3", 60_000, {})');
  expect([result, printed]).toEqual([{ status: 3, output: "a\n" }, "a"]);
});

it("runGroup returns the standard error too, and prints nothing, if it is asked to", async () => {
  const { result, printed } = await run(`await runGroup("echo a; echo b >&2; exit 3", 60_000, ${QUIET})`);
  expect(result).toMatchObject({ status: 3 });
  expect((result as { output: string }).output.trim().split("\n").sort()).toEqual(["a", "b"]);
  expect(printed).toBe("");
});

it("runGroup kills a command that takes too long with the processes that it has started", async () => {
  const { result } = await run(`await runGroup("sleep 600 & echo $!; sleep 600; true", 1_000, ${QUIET})`);
  const { status, output } = result as { status: number; output: string };
  expect(status).toBe(128);
  expect(Number(output)).toBeGreaterThan(0);
  // A process that nobody has waited for is a zombie (Z).
  const isRunning = (): boolean =>
    /^ *[^Z\s]/m.test(spawnSync("ps", ["-o", "stat=", "-p", output.trim()]).stdout.toString());
  await expect.poll(isRunning).toBe(false);
});
