/** The command itself: what it writes and removes, what it says, and how it ends. */
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ArgumentsError, readArguments } from "../../src/interface/arguments.ts";
import { type Outcome, runInterface } from "../../src/interface/command.ts";
import { root } from "../plugin/support/protos.ts";

const greeter = "/** @service a.Greeter */ export interface Greeter { greet(name: string): Promise<string> }\n";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "triple-es-interface-"));
  write("contracts/greeter.ts", greeter);
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(join(folder, dirname(path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

function run(...args: string[]): Outcome {
  const read = readArguments(args);
  if (read === "help") throw new Error("asks for help");
  return runInterface(read, folder);
}

const all = ["contracts/**/*.ts", "--out", "gen"] as const;
const ok = (stdout: string): Outcome => ({ status: 0, stdout, stderr: "" });

function files(): string[] {
  return readdirSync(join(folder, "gen"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.includes("."))
    .sort();
}

describe("a run", () => {
  it("writes a file for each contract, in folders like theirs", () => {
    write("contracts/deep/er/other.ts", greeter.replaceAll("Greeter", "Other"));
    write("contracts/only/types.ts", "export type Nothing = string;\n");
    expect(run(...all)).toEqual(ok("2 files written, 0 unchanged\n"));
    expect(files()).toEqual(["deep/er/other_triple.ts", "greeter_triple.ts"]);
  });

  it("leaves alone what is as it should be", () => {
    run(...all);
    const path = join(folder, "gen/greeter_triple.ts");
    utimesSync(path, 1, 1);
    expect(run(...all)).toEqual(ok("0 files written, 1 unchanged\n"));
    expect(statSync(path).mtimeMs).toBe(1_000);
  });

  it("removes what has lost its contract, and nothing else", () => {
    write("contracts/other.ts", greeter.replaceAll("Greeter", "Other"));
    run(...all);
    write("gen/mine_triple.ts", "export {};\n");
    write("elsewhere/third.ts", greeter.replaceAll("Greeter", "Third"));
    run("elsewhere/*.ts", "--out", "gen");
    rmSync(join(folder, "contracts/other.ts"));
    expect(run(...all)).toEqual(ok("0 files written, 1 unchanged, 1 file removed\n"));
    expect(files()).toEqual(["greeter_triple.ts", "mine_triple.ts", "third_triple.ts"]);
    write(
      "contracts/greeter.ts",
      `${greeter.replace("@service", "@serv")}/** @class a.B */ interface B { c: string }\n`,
    );
    expect(run(...all).stdout).toBe("1 file written, 0 unchanged\n");
    write("contracts/greeter.ts", "export {};\n");
    write("contracts/new.ts", greeter);
    expect(run(...all).stdout).toBe("1 file written, 0 unchanged, 1 file removed\n");
  });

  it("writes nothing if one contract has a mistake, and tells of all of them", () => {
    write("contracts/bad.ts", "/** @service a.B */ export interface B { b(a: symbol): Promise<never> }\n");
    const { status, stderr } = run(...all);
    expect(status).toBe(1);
    expect(stderr).toBe(
      "contracts/bad.ts:1:47: error: Java has no counterpart of the type symbol\n" +
        "contracts/bad.ts:1:64: error: Java has no counterpart of the type never\n",
    );
    expect(existsSync(join(folder, "gen"))).toBe(false);
  });

  it("warns and goes on", () => {
    write("contracts/greeter.ts", greeter.replace("name: string", "name: any"));
    const { status, stderr } = run(...all);
    expect(status).toBe(0);
    expect(stderr).toMatch(/^contracts\/greeter\.ts:1:\d+: warning: any is taken for unknown/);
    expect(files()).toEqual(["greeter_triple.ts"]);
  });

  it("reads neither what it wrote nor what a pattern leaves out", () => {
    write("contracts/draft.ts", "not TypeScript at all");
    const args = ["contracts/**/*.ts", "!contracts/draft.ts", "--out", "contracts"];
    expect(run(...args)).toEqual(ok("1 file written, 0 unchanged\n"));
    expect(run(...args)).toEqual(ok("0 files written, 1 unchanged\n"));
  });

  it("can be given files one by one, and the folder they count from", () => {
    write("contracts/deep/other.ts", greeter.replaceAll("Greeter", "Other"));
    run("contracts/deep/other.ts", "--out", "gen", "--root", "contracts");
    expect(files()).toEqual(["deep/other_triple.ts"]);
    expect(() => run("contracts/greeter.ts", "--out", "gen", "--root", "contracts/deep")).toThrow(
      "--root does not contain contracts/greeter.ts",
    );
  });

  it("finds types by the paths of a tsconfig", () => {
    const text = `import type { Name } from "@types/name";\n${greeter.replace("name: string", "name: Name")}`;
    write("contracts/greeter.ts", text);
    write("shared/name.ts", "export type Name = string;\n");
    expect(run(...all).stderr).toContain('Name cannot be found: "@types/name" does not have it');
    write("tsconfig.json", '{ "compilerOptions": { "paths": { "@types/*": ["./shared/*"] } } }');
    expect(run(...all, "--project", "tsconfig.json").status).toBe(0);
    expect(readFileSync(join(folder, "gen/greeter_triple.ts"), "utf8")).toContain('from "@types/name";');
    expect(() => run(...all, "--project", "tsconfg.json")).toThrow("--project: there is no file tsconfg.json");
    write("tsconfig.json", "{ bad");
    expect(() => run(...all, "--project", "tsconfig.json")).toThrow("--project: tsconfig.json cannot be read: ");
  });

  it("writes JavaScript and declarations, with the extension that is asked for", () => {
    write(
      "contracts/greeter.ts",
      `${greeter.replace("name: string", "user: User")}/** @class a.U */ export interface User { a: string }\n`,
    );
    run(...all, "--target", "js+dts");
    expect(files()).toEqual(["greeter_triple.d.ts", "greeter_triple.js"]);
    for (const [extension, from] of [
      ["js", "greeter.js"],
      ["ts", "greeter.ts"],
      ["none", "greeter"],
    ] as const) {
      run(...all, "--import-extension", extension);
      expect(readFileSync(join(folder, "gen/greeter_triple.ts"), "utf8")).toContain(`from "../contracts/${from}";`);
    }
    expect(files()).toEqual(["greeter_triple.ts"]);
  });
});

describe("a check", () => {
  it("fails for what is missing, different or stale, and writes nothing", () => {
    expect(run(...all, "--check")).toEqual({ status: 1, stdout: "", stderr: "gen/greeter_triple.ts is missing\n" });
    expect(existsSync(join(folder, "gen"))).toBe(false);
    run(...all);
    expect(run(...all, "--check")).toEqual(ok("gen is up to date\n"));
    write("contracts/greeter.ts", greeter.replace("name", "who"));
    expect(run(...all, "--check").stderr).toBe("gen/greeter_triple.ts is different\n");
    write("contracts/other.ts", greeter);
    rmSync(join(folder, "contracts/greeter.ts"));
    expect(run(...all, "--check").stderr).toBe("gen/other_triple.ts is missing\ngen/greeter_triple.ts is stale\n");
    expect(files()).toEqual(["greeter_triple.ts"]);
  });
});

describe("the Java side", () => {
  it("is printed, or written beside the other without harm to it", () => {
    const { stdout } = run("contracts/*.ts", "--java");
    expect(stdout).toMatch(
      /^\/\/ a\/Greeter\.java\n[\s\S]*public interface Greeter \{\n {4}String greet\(String name\);\n\}\n$/,
    );
    run(...all);
    expect(run(...all, "--java")).toEqual(ok("1 file written, 0 unchanged\n"));
    run(...all);
    expect(files()).toEqual(["a/Greeter.java", "greeter_triple.ts"]);
    write("contracts/greeter.ts", greeter.replace("a.Greeter", "b.Greeter"));
    run(...all, "--java");
    expect(files()).toEqual(["b/Greeter.java", "greeter_triple.ts"]);
  });
});

describe("a mistake", () => {
  const mistake = (...args: string[]): string => {
    try {
      run(...args);
    } catch (error) {
      if (error instanceof ArgumentsError) return error.message;
      throw error;
    }
    throw new Error("there was none");
  };

  it.each([
    [[], "no contracts are given, such as ./contracts/**/*.ts\n--out is missing: the folder to write to"],
    [["a.ts", "--ot", "gen"], 'there is no flag --ot, did you mean "--out"?\n--out is missing: the folder to write to'],
    [["a.ts", "--out"], "--out needs a value, such as --out gen"],
    [["a.ts", "--out="], "--out needs a value, such as --out gen"],
    [["a.ts", "--out", "a", "--out", "b"], "--out is given twice"],
    [["a.ts", "--out", "a", "--check=no"], "--check takes no value"],
    [["a.ts", "--out", "a", "--target", "tsx"], "--target must be ts, js, dts, or js+dts, not tsx"],
    [["a.ts", "--out", "a", "--import-extension", ".js"], "--import-extension must be js, ts or none, not .js"],
    [["a.ts", "--java", "--check"], "--check needs --out, the folder to look at"],
    [["a.ts", "--java", "--target", "ts"], "--target does not go with --java"],
    [["!a.ts", "--out", "gen"], "no contracts are given, such as ./contracts/**/*.ts"],
    [["a.ts", "b/*.ts", "--out", "gen"], "no file matches a.ts\nno file matches b/*.ts"],
  ])("%j is answered: %s", (args, message) => {
    expect(mistake(...args)).toBe(message);
  });

  it("is a pattern that matches no contract", () => {
    write("contracts/greeter.ts", "export interface Greeter { }\n");
    expect(mistake(...all)).toBe("none of 1 file declares an interface with the tag @service");
    write("contracts/component.tsx", "export {};\n");
    expect(mistake("contracts/*.tsx", "--out", "gen")).toBe("contracts/component.tsx: a contract is a .ts file");
  });

  it("is two contracts that become one file, or what Java cannot declare twice", () => {
    write("contracts/greeter.d.ts", greeter.replace("a.Greeter", "b.Greeter").replace("export", "export declare"));
    expect(mistake(...all)).toBe("two contracts would both become greeter_triple.ts");
    rmSync(join(folder, "contracts/greeter.d.ts"));
    write("contracts/b.ts", greeter.replace("*/", "\n * @version 2 */"));
    expect(run(...all).status).toBe(0);
    expect(mistake("contracts/*.ts", "--java")).toBe("a.Greeter is declared twice");
  });
});

describe("the executable", () => {
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
  const start = (...args: string[]) => {
    const command = ["--import", tsx, join(root, "src/triple-es.ts"), ...args];
    const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: folder, encoding: "utf8" });
    return { status, stdout, stderr };
  };

  it("explains itself", () => {
    expect(start("--help")).toEqual(
      ok(expect.stringContaining("triple-es interface './contracts/**/*.ts' --out gen") as never),
    );
    expect(start("interface", "--help").stdout).toContain("--import-extension js");
    expect(start("--version").stdout).toMatch(/^triple-es v\d+\.\d+\.\d+\n$/);
  });

  it("ends with 1 and its reason on stderr", () => {
    expect(start("interfaec")).toEqual({
      status: 1,
      stdout: "",
      stderr: 'triple-es: there is no command "interfaec", did you mean "interface"?\n',
    });
    expect(start().status).toBe(1);
    expect(start("interface", "--out").stderr).toMatch(/^triple-es: --out needs a value.*\ntriple-es: no contracts/);
  });

  it("tells what the disk has against it", () => {
    write("gen", "a file");
    const { status, stderr } = start("interface", ...all);
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^triple-es: E(?:NOTDIR|EXIST)[^\n]*\n$/)]);
  });

  it("does its work", () => {
    expect(start("interface", ...all)).toEqual(ok("1 file written, 0 unchanged\n"));
  });
});
