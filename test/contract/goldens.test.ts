/** The committed output of contracts equals the output of this source tree, byte for byte. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CONTRACT_RUNS } from "../../scripts/contracts.ts";
import { readArguments } from "../../src/contract/arguments.ts";
import { runInterface } from "../../src/contract/command.ts";
import { runContract } from "../../src/contract/typescript/contract-command.ts";
import { root } from "../plugin/support/protos.ts";

const SUPPORT = join(root, "src/triple-contract.ts");

describe.each(CONTRACT_RUNS.map((args) => [args.join(" "), args] as const))("%s", (_, args) => {
  it("has nothing to write", () => {
    const [command, ...rest] = args;
    const read = readArguments([...rest, "--check"], command);
    if (read === "help") throw new Error("the script asks for help");
    const outcome = command === "contract" ? runContract(read, root, SUPPORT) : runInterface(read, root);
    expect(outcome).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("up to date"),
      stderr: expect.not.stringContaining("error"),
    });
  });
});

it("holds no file that is not generated", () => {
  const files = readdirSync(join(root, "fixtures/interface/gen"), { recursive: true, encoding: "utf8" });
  const generated = files.filter((file) => /\.\w+$/.test(file));
  expect(generated.length).toBeGreaterThan(40);
  expect(generated.filter((file) => !/_triple\.ts$|^java\/.*\.java$/.test(file))).toEqual([]);
});
