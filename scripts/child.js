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
/** Ids of the running children, as `kill` takes them: that of a process group is negative. */
const running = new Set();

for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => killAll(signal));
setInterval(() => process.ppid !== parent && killAll("SIGTERM"), 200).unref();

function killAll(signal) {
  for (const id of running) kill(id, signal);
}

function kill(id, signal) {
  try {
    process.kill(id, signal);
  } catch {
    // It has ended.
  }
}

/** Runs a program with the input and output of this process. Returns its exit code. */
export async function runChild(program, args, options) {
  const child = spawn(program, args, { stdio: "inherit", ...options });
  running.add(child.pid);
  const [code, signal] = await once(child, "exit");
  running.delete(child.pid);
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
  const child = spawn(command, { ...options, stdio: ["ignore", "pipe", stderr], shell: true, detached: true });
  const group = -child.pid;
  running.add(group);
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
    kill(group, "SIGKILL");
  }, timeoutMs);
  const [code] = await once(child, "exit");
  clearTimeout(timer);
  kill(group, "SIGKILL");
  running.delete(group);
  // A process that has left the group may still hold a pipe.
  await Promise.race([closed, sleep(REST_MS, undefined, { ref: false })]);
  for (const stream of streams) stream.destroy();
  return { status: code ?? 128, output };
}
