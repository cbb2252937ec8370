/**
 * The fields that the packages of this repository share: `node scripts/manifests.js` fails if another file differs from
 * `package.json` of the root, which has the version, the repository and the versions of other packages. `--write` changes
 * the other files; `npm run bump` runs it. To name the repository, run
 * `npm pkg set repository.type=git repository.url=git+https://HOST/OWNER/NAME.git` and then `--write`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const read = (file) => readFileSync(join(root, file), "utf8");
const { version, repository, workspaces, devDependencies } = JSON.parse(read("package.json"));

/** The folders of the published packages, in the order in which they are published: what others need comes first. */
export const FOLDERS = [...workspaces, "."];
export const VERSION = version;
/** The URL of the repository for people, or `undefined` until `package.json` has one. */
export const REPOSITORY = repository?.url.replace(/^git\+/, "").replace(/\.git$/, "");

const NAMES = FOLDERS.map((folder) => JSON.parse(read(join(folder, "package.json"))).name);
const DEPENDENCIES = ["dependencies", "devDependencies", "peerDependencies"];
/** Before 1.0.0, minor versions may contain breaking changes. */
const RANGE = `${version.startsWith("0.") ? "~" : "^"}${version}`;

/** Sets the versions of a manifest's dependencies on packages of this repository. */
function setRanges(manifest, range) {
  for (const kind of DEPENDENCIES) {
    for (const name of Object.keys(manifest[kind] ?? {})) if (NAMES.includes(name)) manifest[kind][name] = range;
  }
}

/** Sets the shared fields of a published package. Its packages need each other in the same version. */
function setManifest(manifest, folder) {
  manifest.version = version;
  setRanges(manifest, version);
  const links = REPOSITORY && {
    repository: folder === "." ? repository : { ...repository, directory: folder },
    homepage: `${REPOSITORY}#readme`,
    bugs: `${REPOSITORY}/issues`,
  };
  for (const field of ["repository", "homepage", "bugs"]) delete manifest[field];
  Object.assign(manifest, links);
}

/**
 * Sets the versions of all dependencies of a new project. The newest protoc-gen-es refuses Node 20: its range is that of
 * protobuf-es, so that npm selects a version for the Node that runs it.
 */
function setTemplate(manifest) {
  const { "@bufbuild/protobuf": supported } = JSON.parse(read("runtime/package.json")).peerDependencies;
  for (const kind of DEPENDENCIES) {
    for (const name of Object.keys(manifest[kind] ?? {})) {
      manifest[kind][name] = name === "@bufbuild/protoc-gen-es" ? supported : `^${devDependencies[name]}`;
    }
  }
  setRanges(manifest, RANGE);
}

/** Sets the manifest of the runtime for JSR, which gets the sources, from that for npm. */
function setJsr(manifest) {
  const { exports, dependencies, peerDependencies } = JSON.parse(read("runtime/package.json"));
  const sources = Object.entries(exports).filter(([, entry]) => entry["triple-source"] !== undefined);
  const imports = Object.entries({ ...dependencies, ...peerDependencies });
  Object.assign(manifest, {
    version,
    exports: Object.fromEntries(sources.map(([name, entry]) => [name, entry["triple-source"]])),
    imports: Object.fromEntries(imports.map(([name, range]) => [name, `npm:${name}@${range}`])),
  });
}

function setLock(lock) {
  for (const folder of FOLDERS) {
    const entry = lock.packages[folder === "." ? "" : folder];
    entry.version = version;
    setRanges(entry, version);
  }
  lock.version = version;
}

/** Files of JSON, with the function that sets their shared fields. */
const OBJECTS = [
  ...FOLDERS.map((folder) => [join(folder, "package.json"), (manifest) => setManifest(manifest, folder)]),
  ...["common", "proto", "typescript", "page", "registry"].map((part) => [
    `create/templates/${part}/package.json`,
    setTemplate,
  ]),
  ...["", "packages/api/", "packages/server/"].map((folder) => [
    `examples/monorepo/${folder}package.json`,
    (manifest) => setRanges(manifest, RANGE),
  ]),
  ["package-lock.json", setLock],
  ["runtime/jsr.json", setJsr],
];

/** Other files, with the texts around the version in them. */
const TEXTS = [
  ["src/version.ts", '"v', '"'],
  ["runtime/src/version.ts", '"', '"'],
  ["docs/project.md", '"triple-es": "~', '"'],
  ["docs/project.md", "`~", "`"],
  ["bsr/buf.plugin.yaml", "plugin_version: v", "\n"],
  ["bsr/buf.plugin.yaml", "version: ^", "\n"],
  ["bsr/Dockerfile", "protoc-gen-triple-es@", "\n"],
];

/** The headings of Changesets, with those of the changelog. */
const HEADINGS = { Major: "Breaking changes", Minor: "Changes", Patch: "Fixes" };

/** Gives what Changesets has written into the changelog the style of the rest: without hashes of commits. */
function setChangelog(text) {
  return text
    .replace(/^### (Major|Minor|Patch) Changes$/gm, (_, kind) => `### ${HEADINGS[kind]}`)
    .replace(/^- [0-9a-f]{7}: /gm, "- ");
}

/** Returns the files that differ, each with the text that it should have. Throws an `Error` if that cannot be told. */
export function outdatedFiles() {
  const { version: before } = JSON.parse(read("runtime/package.json"));
  const texts = new Map();
  for (const [file, set] of OBJECTS) {
    const value = JSON.parse(read(file));
    const old = JSON.stringify(value);
    set(value);
    if (JSON.stringify(value) !== old) texts.set(file, `${JSON.stringify(value, null, 2)}\n`);
  }
  for (const [file, start, end] of TEXTS) {
    const text = texts.get(file) ?? read(file);
    if (text.includes(start + version + end)) continue;
    if (!text.includes(start + before + end)) throw new Error(`${file} has no ${start}${version}${end}`);
    texts.set(file, text.replaceAll(start + before + end, start + version + end));
  }
  const plugin = texts.get("bsr/buf.plugin.yaml") ?? read("bsr/buf.plugin.yaml");
  if (REPOSITORY !== undefined && !plugin.includes(`\nsource_url: ${REPOSITORY}\n`)) {
    const rest = plugin.replace(/^source_url: .*\n/m, "");
    texts.set(
      "bsr/buf.plugin.yaml",
      rest.replace(/^plugin_version: .*\n/m, (line) => `${line}source_url: ${REPOSITORY}\n`),
    );
  }
  const changelog = read("CHANGELOG.md");
  if (setChangelog(changelog) !== changelog) texts.set("CHANGELOG.md", setChangelog(changelog));
  if (!changelog.includes(`\n## ${version}`)) throw new Error(`CHANGELOG.md has no section ${version}`);
  return texts;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const isWriting = process.argv.includes("--write");
  let files = new Map();
  try {
    files = outdatedFiles();
  } catch ({ message }) {
    console.error(message);
    process.exitCode = 1;
  }
  for (const [file, text] of files) {
    console.log(
      isWriting ? `written: ${file}` : `${file} differs from package.json: node scripts/manifests.js --write`,
    );
    if (isWriting) writeFileSync(join(root, file), text);
    else process.exitCode = 1;
  }
}
