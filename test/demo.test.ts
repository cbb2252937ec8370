/** The demo, as `npm run demo` runs it: every answer is checked, invalid options are rejected, and signals end it. */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { terminalOf, withoutVariables } from "../site/terminal.ts";
import { compiled } from "./support/compiled.ts";
import { ROOT, readBlocks, readDocument } from "./support/documents.ts";

const DEMO = [compiled("examples/demo/main.ts")];

async function demo(
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const run = promisify(execFile)(process.execPath, [...DEMO, ...args], { cwd: ROOT, env });
  return run.then(
    (output) => ({ code: 0, ...output }),
    (failed) => failed,
  );
}

describe("the demo", () => {
  it("shows both sub-protocols, every kind of call and the bytes on the wire, and finds every answer right", async () => {
    const { code, stdout, stderr } = await demo([]);
    expect(stderr).toBe("");
    expect(stdout).not.toContain("WRONG");
    expect(stdout).toMatch(/\b1[12] answers right, 0 wrong/);
    expect(code).toBe(0);
    const shown = [
      "> POST /greet.v1.GreetService/Greet HTTP/1.1",
      '> [{"name":"Dubbo"}]',
      "< HTTP/1.1 200 OK",
      '< {"greeting":"Hello, Dubbo!"}',
      "content-type: application/proto",
      ":path: /greet.v1.GreetService/GreetEach",
      ":path: /greet.v1.GreetService/GreetTogether",
      ":path: /greet.v1.GreetService/GreetOnArrival",
      '> DATA      0000000007 0a05447562626f  {"name":"Dubbo"}',
      "< TRAILERS  grpc-status: 0",
      '< {"status":70,"message":"the name is empty","code":"invalid_argument"}',
      "grpc-message: the name is empty",
      "grpc-timeout: ",
      "seal-bin: AQL/",
      "seal-bin: /wIB",
    ];
    expect(shown.filter((text) => !stdout.includes(text))).toEqual([]);
    // Without a terminal, it writes no colours.
    expect(stdout).not.toContain("\u001b");
    // npm run --silent demo > site/demo.txt, and npm run generate, update the terminal.
    if (stdout.includes("12 answers right")) {
      expect(withoutVariables(stdout)).toBe(withoutVariables(readDocument("site/demo.txt")));
    }
  });

  it("is drawn as a terminal from its recorded output", () => {
    expect(readDocument("docs/demo.svg")).toBe(terminalOf(readDocument("site/demo.txt")));
  });

  it("reports a missing curl, and continues", async () => {
    const { code, stdout } = await demo([], { ...process.env, PATH: "/nonexistent" });
    expect(stdout).toContain("skipped: there is no curl on this machine");
    expect(stdout).toContain("11 answers right, 0 wrong, 1 skipped");
    expect(code).toBe(0);
  });

  it("prints how it is used", async () => {
    const { code, stdout } = await demo(["--help"]);
    expect(stdout).toContain("npm run demo -- --serve");
    expect(stdout).not.toContain("\u001b");
    expect(code).toBe(0);
  });

  it.each([
    [["--bogus"], "demo: Unknown option '--bogus'"],
    [["--port", "8080"], "demo: --port goes with --serve"],
    [["--serve", "--port", "many"], "demo: --port takes a number up to 65535, not many"],
  ])("refuses %j with a word about why", async (args, message) => {
    const { code, stderr } = await demo(args);
    expect(stderr).toContain(message);
    expect(code).toBe(1);
  });
});

describe("the demo with --serve", () => {
  const folder = mkdtempSync(join(tmpdir(), "triple-es-demo-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  let serving: ChildProcess | undefined;
  afterEach(async () => {
    if (serving?.exitCode === null && serving.kill()) await once(serving, "exit");
  });

  /** Starts the demo on a free port, and waits for the address that it prints. */
  async function serve(
    program = process.execPath,
    args = DEMO,
    cwd = ROOT,
  ): Promise<{ address: string; lines: string[] }> {
    const child = spawn(program, [...args, "--serve", "--port", "0"], {
      cwd,
      stdio: ["ignore", "pipe", "inherit"],
    });
    serving = child;
    const lines: string[] = [];
    for await (const line of createInterface(child.stdout)) {
      lines.push(line);
      if (line.includes("GreetOnArrival")) break;
    }
    const address = /localhost:\d+/.exec(lines.join("\n"))?.[0];
    if (address === undefined) throw new Error(`no address in:\n${lines.join("\n")}`);
    return { address, lines };
  }

  /** `npm run demo` generates code first. It must not write to files that other tests read. */
  function copyOfRoot(): string {
    for (const name of readdirSync(ROOT).filter((name) => name !== "examples" && name !== ".git")) {
      symlinkSync(join(ROOT, name), join(folder, name));
    }
    // Not the packages of the examples, which are a gigabyte.
    const filter = (path: string): boolean => basename(path) !== "node_modules";
    cpSync(join(ROOT, "examples"), join(folder, "examples"), { recursive: true, filter });
    return folder;
  }

  it("answers, prints lines to try, and stops on SIGTERM", async () => {
    const { address, lines } = await serve();
    expect(lines.some((line) => line.startsWith("curl ") && line.includes(address))).toBe(true);
    const response = await fetch(`http://${address}/greet.v1.GreetService/Greet`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '[{"name":"test"}]',
    });
    expect(await response.json()).toEqual({ greeting: "Hello, test!" });
    const ended = once(serving as ChildProcess, "exit");
    serving?.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
    await expect(fetch(`http://${address}/`)).rejects.toThrow();
  });

  it.skipIf(spawnSync("curl", ["--version"]).status !== 0)("answers the guide's curl lines as documented", async () => {
    const { address } = await serve();
    const lines = readBlocks("docs/guide.md").flatMap(({ text }) => text.split("\n"));
    const told = lines.flatMap((line, index) => (line.startsWith("curl ") ? [[line, lines[index + 1]] as const] : []));
    expect(told.length).toBeGreaterThan(1);
    for (const [line, answer] of told) {
      const command = line
        .replace("curl ", "curl --silent --show-error --noproxy '*' ")
        .replace("localhost:50051", address);
      expect(`# ${(await promisify(execFile)("sh", ["-c", command])).stdout}`).toBe(answer);
    }
  });

  it("stops when the npm that runs it receives a signal", async () => {
    const { address } = await serve("npm", ["run", "--silent", "demo", "--"], copyOfRoot());
    const output = (serving as ChildProcess).stdout;
    serving?.kill("SIGTERM");
    // The pipe closes when the last process that holds it has ended.
    if (output?.readableEnded === false) await once(output.resume(), "end");
    await expect(fetch(`http://${address}/`)).rejects.toThrow();
  });

  it("reports a port that is in use", async () => {
    const { address } = await serve();
    const port = address.slice("localhost:".length);
    const { code, stderr } = await demo(["--serve", "--port", port]);
    expect(stderr).toBe(`demo: port ${port} is taken; --port chooses another\n`);
    expect(code).toBe(1);
  });

  it("prints buf lines that work", async () => {
    const { lines } = await serve();
    const answers = await Promise.all(
      lines
        .filter((line) => line.startsWith("npx buf curl"))
        .map(async (line) =>
          (await promisify(execFile)("sh", ["-c", line], { cwd: ROOT })).stdout.replaceAll(/\s+/g, ""),
        ),
    );
    const [ann, bob] = ['{"greeting":"Hello,Ann!"}', '{"greeting":"Hello,Bob!"}'];
    expect(answers).toEqual(['{"greeting":"Hello,Dubbo!"}', `${ann}${bob}`, `${ann}${bob}`]);
  });
});
