/**
 * Installs missing packages, so that `npm run demo` and `npm test` work on a fresh clone. Prints nothing if no package
 * is missing. This file is JavaScript, because it runs before the packages for TypeScript are installed.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const NPM_CI = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];

requireNode(20, 19);
installFolder(".");

/** Installs the packages of a folder with its own lock file, if they are missing or the lock file has changed. */
export function installFolder(folder) {
  const reason = reasonToInstall(folder);
  if (reason !== undefined) install(folder, reason);
}

function requireNode(major, minor) {
  const [ownMajor, ownMinor] = process.versions.node.split(".").map(Number);
  if (ownMajor > major || (ownMajor === major && ownMinor >= minor)) return;
  fail(`Node ${major}.${minor} or newer is needed; this is Node ${process.versions.node}`);
}

/**
 * Compares `package-lock.json` with the copy that npm writes when it installs. Optional packages for other platforms
 * are missing from the copy.
 */
function reasonToInstall(folder) {
  const installed = readLock(`${folder}/node_modules/.package-lock.json`);
  if (installed === undefined) return "node_modules is missing";
  const wanted = readLock(`${folder}/package-lock.json`);
  if (wanted === undefined) fail(`${join(folder, "package-lock.json")} is missing or is not JSON`);
  for (const [path, { version, link, optional }] of Object.entries(wanted)) {
    if (!path.startsWith("node_modules/") || link) continue;
    const found = installed[path];
    if (found === undefined ? !optional : found.version !== version) return "package-lock.json has changed";
  }
  return undefined;
}

function readLock(name) {
  try {
    return JSON.parse(readFileSync(join(root, name), "utf8")).packages;
  } catch {
    return undefined;
  }
}

function install(folder, reason) {
  const args = folder === "." ? NPM_CI : [...NPM_CI, "--workspaces=false"];
  console.log(
    `Installing: ${reason}, so running npm ${args.slice(0, 2).join(" ")}${folder === "." ? "" : ` in ${folder}`}`,
  );
  const options = {
    cwd: join(root, folder),
    stdio: ["ignore", "ignore", "inherit"],
    shell: process.platform === "win32",
  };
  const { status, error } = spawnSync("npm", args, options);
  if (status !== 0) fail(`npm ci failed${error ? `: ${error.message}` : "; its output is above"}`);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
