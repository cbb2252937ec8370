/**
 * Publishes all packages in one version: `npm run release [-- --dry-run | -- --to URL]`. The workflow of a tag runs it
 * without arguments. `--dry-run` does everything but the upload, and lists what a release still lacks. `--to` is a rehearsal:
 * it publishes to a registry of this machine, without provenance. A version that is already published is left out, so
 * that a release that failed half-way can be repeated.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { FOLDERS, outdatedFiles, REPOSITORY, VERSION } from "./manifests.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const options = { "dry-run": { type: "boolean", default: false }, to: { type: "string" } };
const { "dry-run": isDry, to } = readArguments();
if (to !== undefined && !to.endsWith("/")) fail(`--to is the URL of a registry, which ends with /, not ${to}`);
if (to !== undefined && !["127.0.0.1", "localhost"].includes(new URL(to).hostname)) {
  fail(`--to is for a registry of this machine, not for ${to}`);
}

const lacking = findLacking();
for (const reason of lacking) console.log(`a release lacks: ${reason}`);
const isRehearsal = isDry || to !== undefined;
if (lacking.length > 0 && !isRehearsal) fail("nothing was published");

// npm asks for a token before it publishes, also at a registry that needs none.
const registry = to === undefined ? [] : ["--registry", to, `--${to.replace(/^https?:/, "")}:_authToken=none`];
const pending = isDry ? FOLDERS : FOLDERS.filter((folder) => !isPublished(folder));
if (pending.length > 0) run("node", ["scripts/build.js"]);
for (const folder of pending) publish(folder);

/** Ends this process for `--help` and for arguments that it does not know, with the usage text. */
function readArguments() {
  const usage = "npm run release [-- --dry-run | -- --to URL-OF-A-REGISTRY-OF-THIS-MACHINE]";
  try {
    const { values } = parseArgs({ options: { ...options, help: { type: "boolean" } } });
    if (!values.help) return values;
    console.log(usage);
    return process.exit();
  } catch ({ message }) {
    return fail(`${message}\n${usage}`);
  }
}

/** The conditions of a release that are not met, each as a sentence for people. */
function findLacking() {
  const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  const changesets = readdirSync(join(root, ".changeset")).filter(
    (name) => name.endsWith(".md") && name !== "README.md",
  );
  return [
    REPOSITORY === undefined && 'a "repository" in package.json, without which npm refuses the statement of provenance',
    outdatedFiles().size > 0 && `equal manifests; see node scripts/manifests.js`,
    !changelog.includes(`\n## ${VERSION}\n`) && `a section ${VERSION} of CHANGELOG.md that is not marked as unreleased`,
    changesets.length > 0 && `npm run bump, which writes ${changesets.join(", ")} into CHANGELOG.md`,
    git("status", "--porcelain") !== "" && "a work tree without changes",
    !git("tag", "--points-at", "HEAD").split("\n").includes(`v${VERSION}`) && `a tag v${VERSION} of this commit`,
  ].filter((reason) => reason !== false);
}

/** Publishes the package of a folder. The version of a pre-release gets the tag `next`. */
function publish(folder) {
  const flags = [
    "--ignore-scripts",
    "--loglevel=error",
    ...["--tag", VERSION.includes("-") ? "next" : "latest"],
    ...registry,
    ...(isRehearsal ? ["--provenance=false"] : []),
    ...(isDry ? ["--dry-run"] : []),
  ];
  run("npm", ["publish", `./${folder}`, ...flags]);
  console.log(`${isDry ? "packed" : "published"}: ${nameOf(folder)} ${VERSION}`);
}

/** Reports whether the registry has the version of the package of a folder. */
function isPublished(folder) {
  const name = nameOf(folder);
  const args = ["view", `${name}@${VERSION}`, "version", "--json", "--prefer-online", "--loglevel=silent", ...registry];
  const { status, stdout } = spawnSync("npm", args, { cwd: root, encoding: "utf8" });
  if (status === 0) {
    if (stdout.trim() !== "") console.log(`already published: ${name} ${VERSION}`);
    return stdout.trim() !== "";
  }
  const { error } = JSON.parse(stdout || "{}");
  if (error?.code !== "E404") fail(`npm view ${name}@${VERSION} failed: ${error?.summary ?? "without a message"}`);
  return false;
}

function nameOf(folder) {
  return JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")).name;
}

function run(command, args) {
  const env = { ...process.env, PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}` };
  const { status, error } = spawnSync(command, args, { cwd: root, env, stdio: "inherit" });
  if (status !== 0) fail(`${command} ${args.join(" ")} failed${error === undefined ? "" : `: ${error.message}`}`);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
