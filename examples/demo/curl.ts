/** Runs the curl line of the guide with curl itself. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

const GUIDE = new URL("../../docs/guide.md", import.meta.url);

/** Returns the line with the address of a running server. */
export async function readCurlLine(address: string): Promise<string> {
  const found = /^curl .*$/m.exec(await readFile(GUIDE, "utf8"));
  if (found === null) throw new Error("docs/guide.md has no line that starts with curl");
  return found[0].replace("localhost:50051", address);
}

/** Runs a line without a shell. Returns `undefined` if curl is not installed. */
export async function runCurl(line: string): Promise<string | undefined> {
  const [, ...args] = Array.from(line.matchAll(/'([^']*)'|\S+/g), ([word, quoted]) => quoted ?? word);
  try {
    // Calls to local ports must not go through a proxy of the environment.
    const env = { ...process.env, no_proxy: "*" };
    const { stdout } = await promisify(execFile)("curl", ["--silent", "--show-error", ...args], { env });
    return stdout;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
