/**
 * The environment of a measurement: Node, the versions of the peers, the processor.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus } from "node:os";

export interface Machine {
  readonly node: string;
  readonly packages: Readonly<Record<string, string>>;
  readonly processor: string;
  readonly cores: number;
  /** The CPUs to which the measured process and the other end of its connections are pinned, if possible. */
  readonly pinned: { readonly subject: number; readonly other: number } | undefined;
}

const peers = ["@grpc/grpc-js", "@grpc/proto-loader", "@connectrpc/connect-node", "@bufbuild/protobuf"];

export function describeMachine(): Machine {
  return {
    node: process.version,
    packages: Object.fromEntries(peers.map((name) => [name, versionOf(name)])),
    processor: cpus()[0]?.model.trim() ?? "unknown processor",
    cores: cpus().length,
    pinned: pinnedCpus(),
  };
}

function versionOf(name: string): string {
  const manifest = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}

/** The last and the first CPU, if there are two and `taskset` can pin a process to them. */
export function pinnedCpus(): Machine["pinned"] {
  const pinned = { subject: cpus().length - 1, other: 0 };
  const isAllowed = (cpu: number) =>
    spawnSync("taskset", ["-c", String(cpu), process.execPath, "--version"]).status === 0;
  return pinned.subject > pinned.other && isAllowed(pinned.subject) && isAllowed(pinned.other) ? pinned : undefined;
}
