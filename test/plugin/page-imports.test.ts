/** The code that pages load for options of proto files, such as rules of protovalidate, and its exclusion with buf. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { RULED } from "../openapi/ruled.ts";
import { ROOT, readDocument } from "../support/documents.ts";
import { compile, requestFor, run } from "./support/protos.ts";

/** The statement of an import of rules. */
const IMPORT = /^import .*buf\/validate/m;

it("clients and codecs do not import the rules of protovalidate", () => {
  const files = run(requestFor(compile(RULED), "target=ts"));
  const own = [...files].filter(([path]) => path.startsWith("orders/"));
  expect(own.map(([path]) => path)).toEqual(["orders/v1/orders_triple.ts", "orders/v1/orders_codec.ts"]);
  expect(own.filter(([, text]) => IMPORT.test(text)).map(([path]) => path)).toEqual([]);
});

it.each([
  ["without the line of docs/bundle-size.md, the messages of protoc-gen-es do", "", true],
  ["with it they do not", "exclude_types", false],
])("%s", (_, wanted, isImported) => {
  const [line = ""] =
    /inputs: \[\{ directory: proto, exclude_types: \[.*?\] \}\]/.exec(readDocument("docs/bundle-size.md")) ?? [];
  expect(line).toContain("exclude_types: [buf.validate.field");
  const inputs = wanted === "" ? "inputs: [{ directory: proto }]" : line;
  const folder = mkdtempSync(join(tmpdir(), "triple-es-imports-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [path, text] of Object.entries(RULED)) {
    const file = join(folder, "proto", path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const plugins = "plugins: [{ local: protoc-gen-es, out: gen, opt: [target=ts], include_imports: true }]";
  writeFileSync(join(folder, "buf.gen.yaml"), `version: v2\n${inputs}\n${plugins}\n`);
  const { stderr } = spawnSync(process.execPath, [join(ROOT, "node_modules/@bufbuild/buf/bin/buf"), "generate"], {
    cwd: folder,
    env: { ...process.env, PATH: `${join(ROOT, "node_modules/.bin")}${delimiter}${process.env["PATH"]}` },
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  expect(IMPORT.test(readFileSync(join(folder, "gen/orders/v1/orders_pb.ts"), "utf8"))).toBe(isImported);
});
