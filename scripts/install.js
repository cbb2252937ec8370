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
const reason = reasonToInstall();
if (reason !== undefined) install(reason);

function requireNode(major, minor) {
  const [ownMajor, ownMinor] = process.versions.node.split(".").map(Number);
  if (ownMajor > major || (ownMajor === major && ownMinor >= minor)) return;
  fail(`Node ${major}.${minor} or newer is needed; this is Node ${process.versions.node}`);
}

/**
 * Compares `package-lock.json` with the copy that npm writes when it installs. Optional packages for other platforms
 * are missing from the copy.
 */
function reasonToInstall() {
  const installed = readLock("node_modules/.package-lock.json");
  if (installed === undefined) return "node_modules is missing";
  const wanted = readLock("package-lock.json");
  if (wanted === undefined) fail("package-lock.json is missing or is not JSON");
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

function install(reason) {
  console.log(`Installing: ${reason}, so running npm ${NPM_CI.slice(0, 2).join(" ")}`);
  const options = { cwd: root, stdio: ["ignore", "ignore", "inherit"], shell: process.platform === "win32" };
  const { status, error } = spawnSync("npm", NPM_CI, options);
  if (status !== 0) fail(`npm ci failed${error ? `: ${error.message}` : "; its output is above"}`);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
