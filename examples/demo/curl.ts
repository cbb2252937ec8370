/** The curl line of the README, run by the real curl. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

const README = new URL("../../README.md", import.meta.url);

/** The line, with the address of a server that runs. */
export async function readCurlLine(address: string): Promise<string> {
  const found = /^curl .*$/m.exec(await readFile(README, "utf8"));
  if (found === null) throw new Error("README.md has no line that starts with curl");
  return found[0].replace("localhost:50051", address);
}

/** Runs a line without a shell. `undefined`: there is no curl on this machine. */
export async function runCurl(line: string): Promise<string | undefined> {
  const [, ...args] = Array.from(line.matchAll(/'([^']*)'|\S+/g), ([word, quoted]) => quoted ?? word);
  try {
    // A proxy of the environment has no business with this machine's own ports.
    const env = { ...process.env, no_proxy: "*" };
    const { stdout } = await promisify(execFile)("curl", ["--silent", "--show-error", ...args], { env });
    return stdout;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
