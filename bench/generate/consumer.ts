/** Measures the cost of type-checking a project that calls, or implements, each of 3,000 methods. */
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  CodeGeneratorRequestSchema,
  CodeGeneratorResponseSchema,
  type FileDescriptorSet,
} from "@bufbuild/protobuf/wkt";
import { type PluginName, plugins } from "./plugins.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

export interface ConsumerGoal {
  readonly title: string;
  readonly value: number;
  readonly limit: number;
}

/** Counts type instantiations, which do not depend on the machine. */
export function consumerContest(set: FileDescriptorSet): ConsumerGoal[] {
  // The folder is in the repository, so that the runtime and protobuf-es are resolved.
  const folder = join(root, ".ci/cache/consumer");
  rmSync(folder, { recursive: true, force: true });
  generate(set, "protoc-gen-es", "target=js+dts,import_extension=js", folder);
  generate(set, "protoc-gen-triple-es", "target=js+dts,import_extension=js,codecs=false,init_types=expanded", folder);
  write(join(folder, "client.ts"), clientOf(set));
  write(join(folder, "server.ts"), serverOf(set));
  const goals = [
    ["5.9", "ts59"],
    ["7.0", "typescript"],
  ].flatMap(([version = "", compiler = ""]) =>
    ["client", "server"].map((side) => ({
      title: `type instantiations, ${side} of 3,000 methods, TypeScript ${version}`,
      value: instantiations(folder, side, compiler),
      limit: 35_000,
    })),
  );
  console.log("\nconsumer: js+dts, init_types=expanded, 30 files, 300 services");
  return goals;
}

function generate(set: FileDescriptorSet, plugin: PluginName, parameter: string, folder: string): void {
  const fileToGenerate = set.file.map(({ name }) => name).filter((name) => !name.startsWith("google/protobuf/"));
  const request = create(CodeGeneratorRequestSchema, { parameter, protoFile: set.file, fileToGenerate });
  const { stdout } = spawnSync(process.execPath, [plugins[plugin]], {
    input: toBinary(CodeGeneratorRequestSchema, request),
    maxBuffer: 2 ** 30,
  });
  for (const { name, content } of fromBinary(CodeGeneratorResponseSchema, stdout).file) {
    write(join(folder, name), content);
  }
}

function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/** Prints one call of every method. */
function clientOf(set: FileDescriptorSet): string {
  return sourceOf(set, (service, alias) => {
    const calls = service.method.map(({ name, clientStreaming, serverStreaming }) => {
      const init = `{ name: "a", tags: ["b"], choice: { case: "text", value: "c" } }`;
      const input = clientStreaming ? `(async function* () { yield { name: "a", tags: ["b"] }; })()` : init;
      const call = `client.${name.charAt(0).toLowerCase()}${name.slice(1)}(${input})`;
      return serverStreaming
        ? `  for await (const { name } of ${call}) print(name);`
        : `  print((await ${call}).name);`;
    });
    const client = `${alias}.create${service.name}Client`;
    return `export async function use_${alias}_${service.name}(transport: Transport, print: (text: string) => void): Promise<void> {
  const client = ${client}(transport);
${calls.join("\n")}
}`;
  });
}

/** Prints one handler for every service, with every method. */
function serverOf(set: FileDescriptorSet): string {
  return sourceOf(set, (service, alias) => {
    const methods = service.method.map(({ name, clientStreaming, serverStreaming }) => {
      const method = `${name.charAt(0).toLowerCase()}${name.slice(1)}`;
      const result = `{ name: ${clientStreaming ? '"a"' : "request.name"}, count: 1 }`;
      const parameter = clientStreaming ? "_requests" : "request";
      return serverStreaming
        ? `  async *${method}(${parameter}) { yield ${result}; },`
        : `  ${method}(${parameter}) { return ${result}; },`;
    });
    return `export const ${alias}_${service.name}: ${alias}.${service.name}Handler = {\n${methods.join("\n")}\n};`;
  });
}

type Service = FileDescriptorSet["file"][number]["service"][number];

function sourceOf(set: FileDescriptorSet, print: (service: Service, alias: string) => string): string {
  const files = set.file.filter(({ service }) => service.length > 0);
  return [
    `import type { Transport } from "triple-es";`,
    ...files.map(({ name }, i) => `import * as f${i} from "./${name.replace(/\.proto$/, "_triple.js")}";`),
    ...files.flatMap(({ service }, i) => service.map((service) => print(service, `f${i}`))),
    "export type { Transport };",
  ].join("\n\n");
}

function instantiations(folder: string, side: string, compiler: string): number {
  const config = {
    extends: join(root, "tsconfig.base.json"),
    compilerOptions: { noEmit: true, noUnusedLocals: false, types: [], lib: ["ES2023", "ESNext.Disposable", "DOM"] },
    files: [`${side}.ts`],
  };
  write(join(folder, `tsconfig.${side}.json`), JSON.stringify(config));
  const { status, stdout } = spawnSync(
    process.execPath,
    [
      join(root, `node_modules/${compiler}/bin/tsc`),
      ...["--project", join(folder, `tsconfig.${side}.json`), "--extendedDiagnostics", "--pretty", "false"],
    ],
    { encoding: "utf8", maxBuffer: 2 ** 26 },
  );
  if (status !== 0) throw new Error(stdout.slice(0, 2000));
  return Number(/Instantiations:\s+(\d+)/.exec(stdout)?.[1]);
}
