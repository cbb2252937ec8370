/**
 * Builds programs of peers, once for every state of their sources, into the cache.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { CACHE } from "../../support/go.ts";
import { MissingPeer } from "../peer.ts";

/**
 * The folder with what `build` made of the sources, which it does where nothing has been made of them yet. It works in a
 * folder of its own, so that an end half-way leaves nothing behind.
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

/** Output of earlier versions of the sources. */
function removeOlder(name: string): void {
  const parent = join(CACHE, "dubbo");
  for (const entry of readdirSync(parent)) {
    if (entry.startsWith(`${name}-`) && !entry.endsWith(`.${process.pid}`))
      rmSync(join(parent, entry), { recursive: true });
  }
}

/** Runs a step of a build. Throws with the end of what it said if it fails. */
export function step(cwd: string, program: string, args: readonly string[]): void {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status === 0) return;
  throw new Error(`${program} ${args[0]} failed: ${error?.message ?? ""}${(stdout + stderr).slice(-4000)}`);
}

/** Runs a step that fetches something. One that fails makes the peer a missing one, which the matrix says. */
export function fetchStep(cwd: string, program: string, args: readonly string[]): void {
  try {
    step(cwd, program, args);
  } catch (error) {
    throw new MissingPeer(String(error));
  }
}

/** The files of a folder and the folders in it. */
export function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** The folder of the protos that peers generate from, and their own proto in it. */
export const PROTOS = join(import.meta.dirname, "proto");
export const PEER_PROTO = join(PROTOS, "interop", "v1", "peer.proto");

export const PEERS = join(dirname(import.meta.filename), "peers");
