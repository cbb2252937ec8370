/**
 * `npm run conformance:protobuf`: protobuf's own conformance suite, required and recommended tests up to edition 2023,
 * against generated codecs for binary and protobuf-es for JSON. Fails for a test that fails and is not in
 * `failures.txt`, for one in it that passes, and for one that protobuf-es alone passes. Arguments go to the runner,
 * such as `--test NAME`.
 */
import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../support/documents.ts";
import { CACHE } from "../support/go.ts";
import { findRunner, type Runner } from "./runner.ts";

const HERE = import.meta.dirname;
const FAILURES = join(HERE, "failures.txt");
const GENERATED = join(CACHE, "protobuf-conformance");
/** The exit status for a missing program, as opposed to a failed case. `scripts/check.js` recognizes it. */
const EXIT_CANNOT_RUN = 3;

/** Generates messages and codecs of the suite's proto files. */
function generate(protos: string): void {
  rmSync(GENERATED, { recursive: true, force: true });
  mkdirSync(GENERATED, { recursive: true });
  const opt = ["target=ts", "import_extension=ts"];
  const template = {
    version: "v2",
    inputs: [{ directory: protos }],
    plugins: [
      { local: "protoc-gen-es", out: GENERATED, opt },
      {
        local: [process.execPath, join(ROOT, "scripts/plugin.js")],
        out: GENERATED,
        strategy: "all",
        opt: [...opt, "keep_empty_files=true"],
      },
    ],
  };
  const path = join(GENERATED, "buf.gen.yaml");
  writeFileSync(path, JSON.stringify(template));
  const env = { ...process.env, PATH: `${join(ROOT, "node_modules", ".bin")}${delimiter}${process.env["PATH"]}` };
  const { status, stderr } = spawnSync("buf", ["generate", "--template", path], { cwd: ROOT, env, encoding: "utf8" });
  if (status !== 0) throw new Error(`buf generate failed:\n${stderr}`);
}

interface Verdict {
  readonly ok: boolean;
  /** The last line of the runner, such as "1234 successes, 3 skipped, …". */
  readonly summary: string;
  readonly output: string;
  readonly failures: number;
}

async function run(
  { command: [program = "", ...before] }: Runner,
  decoder: readonly string[],
  options: readonly string[],
): Promise<Verdict> {
  // The runner accepts one program without arguments.
  const testee = join(GENERATED, decoder.length === 0 ? "testee" : "testee-protobuf-es");
  const node = [process.execPath, "--conditions=triple-source", "--import", "tsx", join(HERE, "testee.ts"), GENERATED];
  writeFileSync(testee, `#!/bin/sh\ncd '${ROOT}'\nexec ${[...node, ...decoder].map((one) => `'${one}'`).join(" ")}\n`, {
    mode: 0o755,
  });
  // A testee that cannot start would be started again for each test.
  const start = spawnSync(testee, { input: "", encoding: "utf8" });
  if (start.status !== 0) throw new Error(`the testee does not start:\n${start.stderr}`);
  const args = [...before, "--enforce_recommended", "--maximum_edition", "2023", ...options, testee];
  const { ok, stdout, stderr } = await promisify(execFile)(program, args, { maxBuffer: 2 ** 28 }).then(
    (result) => ({ ok: true, ...result }),
    // The error of a runner that has failed has its output.
    ({ stdout = "", stderr = "", ...error }) => ({ ok: false, stdout, stderr: `${stderr}${error.message ?? ""}` }),
  );
  const output = `${stdout}${stderr}`;
  const suites = [
    ...output.matchAll(/(\d+) successes, (\d+) skipped, (\d+) expected failures, (\d+) unexpected failures/g),
  ];
  const sum = (index: number): number => suites.reduce((total, suite) => total + Number(suite[index]), 0);
  const summary = `${sum(1)} passed, ${sum(3) + sum(4)} failed, ${sum(2)} skipped (text format)`;
  return { ok: ok && suites.length > 0, summary, output, failures: sum(3) + sum(4) };
}

async function main(): Promise<number> {
  const runner = findRunner();
  if (typeof runner === "string") {
    console.log(`SKIPPED conformance:protobuf: ${runner}`);
    return EXIT_CANNOT_RUN;
  }
  generate(runner.protos);
  const options = process.argv.slice(2);
  // At the same time, because a runner and its testee wait for each other at each case.
  const [ours, theirs] = await Promise.all([
    run(runner, [], ["--failure_list", FAILURES, ...options]),
    run(runner, ["protobuf-es"], options),
  ]);
  console.log(`generated codecs: ${ours.summary}`);
  if (!ours.ok) console.log(ours.output);
  console.log(`protobuf-es:      ${theirs.summary}`);
  return ours.ok && ours.failures <= theirs.failures ? 0 : 1;
}

process.exitCode = await main();
