/** Folders with generated code that other programs run and compile, where the repository's packages can be resolved. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type CodeGeneratorRequest,
  CodeGeneratorRequestSchema,
  CodeGeneratorResponseSchema,
} from "@bufbuild/protobuf/wkt";
import type { Plugin } from "@bufbuild/protoplugin";
import { plugin } from "../../../src/plugin/plugin.ts";
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

  /** Generates messages with protoc-gen-es. */
  generateMessages(request: CodeGeneratorRequest, into = ""): void {
    const { stdout, stderr } = this.node(
      [join(root, "node_modules/@bufbuild/protoc-gen-es/bin/protoc-gen-es")],
      toBinary(CodeGeneratorRequestSchema, request),
    );
    const { error, file } = fromBinary(CodeGeneratorResponseSchema, stdout);
    if (error !== "" || file.length === 0) throw new Error(`protoc-gen-es failed: ${error}${stderr}`);
    for (const { name, content } of file) this.write(join(into, name), content);
  }

  node(args: readonly string[], input?: Uint8Array) {
    return spawnSync(process.execPath, args, { cwd: this.folder, input, maxBuffer: 2 ** 28 });
  }

  /**
   * Returns the diagnostics of the whole project against the built packages, with the strict flags of the fixtures; those of
   * declaration files only with `skipLibCheck: false`. Throws if a file does not parse,
   * or if a planted mistake is not reported, because nothing has been type-checked then.
   */
  diagnostics(compilerOptions: object = {}, compiler = "typescript"): string[] {
    return judgedDiagnostics(this.compile(compilerOptions, compiler));
  }

  /** Returns the output of the compiler: errors of types only if there are none of syntax. */
  compile(compilerOptions: object = {}, compiler = "typescript"): string {
    this.write(PLANTED_NAME, PLANTED_SOURCE);
    this.write(
      "tsconfig.json",
      JSON.stringify({ extends: join(root, "test/plugin/support/tsconfig.json"), compilerOptions, include: ["."] }),
    );
    const tsc = join(root, `node_modules/${compiler}/bin/tsc`);
    return this.node([tsc, "--project", ".", "--pretty", "false"]).stdout.toString();
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}
