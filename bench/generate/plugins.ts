/** The plugins that are compared, and the measurement of one run. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  CodeGeneratorRequestSchema,
  CodeGeneratorResponseSchema,
  type FileDescriptorSet,
} from "@bufbuild/protobuf/wkt";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The scripts of the plugins by name. The one of triple-es is the published bundle. */
export const plugins = {
  "protoc-gen-triple-es": here("../../dist/main.js"),
  "protoc-gen-es": here("../../node_modules/@bufbuild/protoc-gen-es/bin/protoc-gen-es"),
  "protoc-gen-connect-es": here("./peers/node_modules/@connectrpc/protoc-gen-connect-es/bin/protoc-gen-connect-es"),
} as const;
export type PluginName = keyof typeof plugins;

/** Peers with dependencies that conflict with those of the repository are installed when they are first needed. */
export function installPeers(): void {
  if (existsSync(plugins["protoc-gen-connect-es"]) && existsSync(here("./peers/node_modules/protobufjs-cli"))) return;
  const { status } = spawnSync("npm", ["ci", "--ignore-scripts", "--workspaces=false", "--silent"], {
    cwd: here("./peers"),
    stdio: ["ignore", 2, 2],
  });
  if (status !== 0) throw new Error("npm ci failed in bench/generate/peers");
}

export interface Usage {
  /** User and system CPU time of the process, in seconds. */
  readonly cpu: number;
  /** Largest resident memory, in MiB. */
  readonly memory: number;
  readonly bytes: number;
}

/** Returns the request of buf for all files except well-known ones. */
export function requestOf(set: FileDescriptorSet, parameter: string): Uint8Array {
  const request = create(CodeGeneratorRequestSchema, {
    parameter,
    protoFile: set.file,
    fileToGenerate: set.file.map(({ name }) => name).filter((name) => !name.startsWith("google/protobuf/")),
  });
  return toBinary(CodeGeneratorRequestSchema, request);
}

/** Runs a plugin in a separate process. */
export function measure(plugin: PluginName, request: Uint8Array): Usage {
  const { status, output, stderr } = spawnSync(process.execPath, ["--require", here("./usage.cjs"), plugins[plugin]], {
    input: request,
    stdio: ["pipe", "pipe", "pipe", "pipe"],
    maxBuffer: 2 ** 30,
  });
  const [, stdout, , usage] = output;
  if (status !== 0 || !stdout || !usage) throw new Error(`${plugin} failed: ${stderr}`);
  const { error } = fromBinary(CodeGeneratorResponseSchema, stdout);
  if (error !== "") throw new Error(`${plugin}: ${error}`);
  const { user, system, maxRSS } = JSON.parse(usage.toString());
  return { cpu: (user + system) / 1e6, memory: maxRSS / 1024, bytes: stdout.length };
}
