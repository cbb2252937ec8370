/** Builds the programs of peers in the cache, once for every state of their sources. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { CACHE } from "../../support/go.ts";
import { MissingPeer } from "../peer.ts";

/**
 * Returns the folder with the output of `build` for the sources. Builds it first if it is missing, in a temporary folder,
 * so that an aborted build leaves no incomplete output.
 */
export function buildOnce(name: string, sources: readonly string[], build: (folder: string) => void): string {
  const hash = createHash("sha256");
  for (const source of sources) hash.update(readFileSync(source));
  const folder = join(CACHE, "dubbo", `${name}-${hash.digest("hex").slice(0, 16)}`);
  if (existsSync(folder)) return folder;
  console.log(`Building ${name}, once; this takes a minute`);
  const building = `${folder}.${process.pid}`;
  mkdirSync(building, { recursive: true });
  try {
    build(building);
    removeOlder(name);
    renameSync(building, folder);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
  return folder;
}

/** Removes the output of earlier versions of the sources. */
function removeOlder(name: string): void {
  const parent = join(CACHE, "dubbo");
  for (const entry of readdirSync(parent)) {
    if (entry.startsWith(`${name}-`) && !entry.endsWith(`.${process.pid}`))
      rmSync(join(parent, entry), { recursive: true });
  }
}

/** Runs a step of a build. If it fails, throws an error with the end of its output. */
export function step(cwd: string, program: string, args: readonly string[]): void {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status === 0) return;
  throw new Error(`${program} ${args[0]} failed: ${error?.message ?? ""}${(stdout + stderr).slice(-4000)}`);
}

/** Runs a step that downloads something. If it fails, the peer counts as missing, which the matrix shows. */
export function fetchStep(cwd: string, program: string, args: readonly string[]): void {
  try {
    step(cwd, program, args);
  } catch (error) {
    throw new MissingPeer(String(error));
  }
}

/** Returns the files of a folder and its subfolders. */
export function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** The folder with the protos that peers generate from, including a separate one for peers. */
export const PROTOS = join(import.meta.dirname, "proto");
export const PEER_PROTO = join(PROTOS, "interop", "v1", "peer.proto");

export const PEERS = join(dirname(import.meta.filename), "peers");
