/** Folders with generated code that other programs run and compile, where the repository's packages can be resolved. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type CodeGeneratorRequest, CodeGeneratorRequestSchema } from "@bufbuild/protobuf/wkt";
import type { Plugin } from "@bufbuild/protoplugin";
import { protocGenEs } from "../../../node_modules/@bufbuild/protoc-gen-es/dist/cjs/src/protoc-gen-es-plugin.js";
import { plugin } from "../../../src/plugin/plugin.ts";
import { TSC, TSC_ENVIRONMENT, TSC_FLAGS } from "../../support/tsc.ts";
import { judgedDiagnostics, PLANTED_NAME, PLANTED_SOURCE } from "./planted-mistake.ts";
import { root, run } from "./protos.ts";

export class Project {
  readonly folder: string;

  constructor() {
    const parent = join(root, ".ci/cache/projects");
    mkdirSync(parent, { recursive: true });
    this.folder = mkdtempSync(join(parent, "p-"));
  }

  write(path: string, content: string): void {
    const full = join(this.folder, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, content);
  }

  remove(folder: string): void {
    rmSync(join(this.folder, folder), { recursive: true });
  }

  /** Generates with the plugin, or with a mutant of it. */
  generate(request: CodeGeneratorRequest, into = "", by: Plugin = plugin): void {
    for (const [path, content] of run(request, by)) this.write(join(into, path), content);
  }

  /** Generates messages with protoc-gen-es, in this process. */
  generateMessages(request: CodeGeneratorRequest, into = ""): void {
    // Invalid Unicode, which protoc-gen-es refuses, becomes a replacement character in bytes.
    const received = fromBinary(CodeGeneratorRequestSchema, toBinary(CodeGeneratorRequestSchema, request));
    this.generate(received, into, protocGenEs);
  }

  node(args: readonly string[]) {
    return spawnSync(process.execPath, args, { cwd: this.folder, maxBuffer: 2 ** 28 });
  }

  /**
   * Returns the diagnostics of the whole project against the built packages, with the strict flags of the fixtures; those of
   * declaration files only with `skipLibCheck: false`. Throws if a file does not parse,
   * or if a planted mistake is not reported, because nothing has been type-checked then.
   */
  diagnostics(compilerOptions: object = {}): string[] {
    return judgedDiagnostics(this.compile(compilerOptions));
  }

  /** Returns the output of the compiler: errors of types only if there are none of syntax. */
  compile(compilerOptions: object = {}): string {
    this.write(PLANTED_NAME, PLANTED_SOURCE);
    const base = join(root, "test/plugin/support/tsconfig.json");
    // Generated code needs no types of Node.
    const config = { extends: base, compilerOptions: { types: [], ...compilerOptions }, include: ["."] };
    this.write("tsconfig.json", JSON.stringify(config));
    const options = { cwd: this.folder, env: TSC_ENVIRONMENT, encoding: "utf8", maxBuffer: 2 ** 28 } as const;
    return spawnSync(TSC, ["--project", ".", ...TSC_FLAGS], options).stdout;
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}
