/**
 * Child processes that end with this process: signals are forwarded, and the loss of the parent counts as SIGTERM, because
 * npm runs a script in a shell, which ends on SIGTERM without forwarding it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

const parent = process.ppid;
/** How long the output of a command is read after the command has ended. */
const REST_MS = 2000;
let child;
let isGroup = false;

for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => kill(signal));
setInterval(() => process.ppid !== parent && kill("SIGTERM"), 200).unref();

function kill(signal) {
  if (child?.pid === undefined) return;
  try {
    process.kill(isGroup ? -child.pid : child.pid, signal);
  } catch {
    // It has ended.
  }
}

/** Runs a program with the input and output of this process. Returns its exit code. */
export async function runChild(program, args, options) {
  isGroup = false;
  child = spawn(program, args, { stdio: "inherit", ...options });
  const [code, signal] = await once(child, "exit");
  return code ?? (signal === null ? 1 : 128);
}

/**
 * Runs a shell command in a process group of its own, and kills the group when the command ends or the time has passed,
 * because a process that is left behind may hold the command's output open for ever. By default the output is printed.
 * `stderr: "pipe"` adds the standard error to it; `print` receives it instead. Returns the exit code and the output.
 */
export async function runGroup(
  command,
  timeoutMs,
  { stderr = "inherit", print = (text) => process.stdout.write(text), ...options },
) {
  isGroup = true;
  child = spawn(command, { ...options, stdio: ["ignore", "pipe", stderr], shell: true, detached: true });
  const streams = [child.stdout, child.stderr].filter((stream) => stream !== null);
  let output = "";
  for (const stream of streams) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
      print(text);
    });
  }
  const closed = once(child, "close");
  const timer = setTimeout(() => {
    console.log(`\n${command}: killed after ${timeoutMs / 60_000} minutes`);
    kill("SIGKILL");
  }, timeoutMs);
  const [code] = await once(child, "exit");
  clearTimeout(timer);
  kill("SIGKILL");
  // A process that has left the group may still hold a pipe.
  await Promise.race([closed, sleep(REST_MS, undefined, { ref: false })]);
  for (const stream of streams) stream.destroy();
  return { status: code ?? 128, output };
}
