/**
 * Child processes that end with this process: signals are forwarded, and the loss of the parent counts as SIGTERM, because
 * npm runs a script in a shell, which ends on SIGTERM without forwarding it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";

const parent = process.ppid;
let child;

for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child?.kill(signal));
setInterval(() => process.ppid !== parent && child?.kill("SIGTERM"), 200).unref();

/** Runs a program with the input and output of this process. Returns its exit code. */
export async function runChild(program, args, options) {
  child = spawn(program, args, { stdio: "inherit", ...options });
  const [code, signal] = await once(child, "exit");
  return code ?? (signal === null ? 1 : 128);
}
