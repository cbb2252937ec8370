/**
 * Records how encoders of others encode the stories, as fixtures. By hand, where Python has `hpack` and Go can be run:
 *
 *     node --conditions=triple-source --import tsx test/http2/record/main.ts
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { recordNode } from "./node.ts";
import { STORIES } from "./stories.ts";

const HERE = import.meta.dirname;
const FIXTURES = join(HERE, "../fixtures");
const PYTHON = process.env["PYTHON"] ?? "python3";

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    input: JSON.stringify(STORIES),
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed: ${stderr}`, { cause: error });
  return stdout;
}

function write(name: string, recorded: object): void {
  writeFileSync(join(FIXTURES, `hpack-${name}.json`), `${JSON.stringify(recorded, undefined, 1)}\n`);
}

write("python", JSON.parse(run(PYTHON, [join(HERE, "record.py")], HERE)));

const folder = mkdtempSync(join(tmpdir(), "hpack-"));
cpSync(join(HERE, "record.go"), join(folder, "main.go"));
run("go", ["mod", "init", "record"], folder);
run("go", ["get", "golang.org/x/net/http2/hpack"], folder);
write("go", JSON.parse(run("go", ["run", "."], folder)));
rmSync(folder, { recursive: true });

// Node encodes requests only, and sends at most one value for most names.
const node = await Promise.all(
  STORIES.map((story) => (story.name.startsWith("calls") ? recordNode(story) : Promise.resolve([]))),
);
write("node", { encoder: `node:http2 of Node ${process.versions.node}`, stories: node });
