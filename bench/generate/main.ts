/**
 * `npm run bench:generate`: our plugin and its peers on the same requests, in turn, and what the types of its output
 * cost a compiler. Ratios are the figures to trust; a goal that is missed is printed, not turned into a failure.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { fromBinary } from "@bufbuild/protobuf";
import { type FileDescriptorSet, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { codecSizes } from "./codec-size.ts";
import { consumerContest } from "./consumer.ts";
import { installPeers, measure, type PluginName, requestOf, type Usage } from "./plugins.ts";
import { type Size, synthesize } from "./protos.ts";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "3" }, only: { type: "string" }, quick: { type: "boolean" } },
});
const rounds = values.quick ? 1 : Number(values.rounds);

const root = fileURLToPath(new URL("../../", import.meta.url));
const wide: Size = { files: 100, servicesPerFile: 10, rpcsPerService: 10, messagesPerFile: 40 };
const tall = (rpcs: number): Size => ({
  files: 1,
  servicesPerFile: 1,
  rpcsPerService: rpcs,
  messagesPerFile: rpcs * 2,
});
const small: Size = { files: 1, servicesPerFile: 1, rpcsPerService: 4, messagesPerFile: 4 };

installPeers();

const ours = "protoc-gen-triple-es";
const is = (name: string): boolean => values.only === undefined || values.only === name;

if (is("wide")) {
  const figures = contest("wide: 100 files, 1,000 services, 10,000 rpcs", wide, [
    ours,
    "protoc-gen-connect-es",
    "protoc-gen-es",
  ]);
  goal("CPU time against protoc-gen-connect-es", ratio(figures, ours, "protoc-gen-connect-es"), 1);
}
if (is("tall")) {
  const once = contest("tall: 800 rpcs and 1,600 messages in one file", tall(800), [
    ours,
    "protoc-gen-connect-es",
    "protoc-gen-es",
  ]);
  goal("CPU time against protoc-gen-es", ratio(once, ours, "protoc-gen-es"), 0.1);
  const twice = contest("twice as tall: 1,600 rpcs and 3,200 messages", tall(1600), [ours, "protoc-gen-connect-es"]);
  goal("CPU time against half the file", cpuOf(twice, ours) / cpuOf(once, ours), 2);
}
if (is("cold")) {
  const figures = contest("cold start: one small file", small, [ours, "protoc-gen-connect-es", "protoc-gen-es"]);
  goal("CPU time against protoc-gen-es", ratio(figures, ours, "protoc-gen-es"), 0.5);
}
if (is("consumer")) {
  for (const { title, value, limit } of consumerContest(build(synthesize({ ...wide, files: 30 })))) {
    goal(title, value, limit, 0);
  }
}
if (is("codec-size")) {
  console.log("\ngenerated code for the binary format, bytes per message field (minified, and after brotli)");
  for (const { generator, fields, minified, brotli } of codecSizes()) {
    const perField = [minified, brotli].map((bytes) => (bytes / fields).toFixed(0).padStart(6));
    console.log(`  ${generator.padEnd(36)} ${perField.join(" ")}   (${minified} and ${brotli} for ${fields} fields)`);
  }
}

type Figures = Map<PluginName, Usage[]>;

/** The plugins run in turn in each round, so that a disturbance affects all of them. */
function contest(title: string, size: Size, names: readonly PluginName[]): Figures {
  const set = build(synthesize(size));
  const request = requestOf(set, "target=ts");
  // The others generate no codecs.
  const requests = new Map([[ours, requestOf(set, "target=ts,codecs=false")]]);
  const figures: Figures = new Map(names.map((name) => [name, []]));
  for (let round = 1; round <= rounds; round++) {
    for (const name of names) {
      process.stderr.write(`round ${round} of ${rounds}: ${name}\n`);
      figures.get(name)?.push(measure(name, requests.get(name) ?? request));
    }
  }
  console.log(`\n${title} (request ${(request.length / 1e6).toFixed(2)} MB, median of ${rounds})`);
  for (const [name, usages] of figures) {
    const [cpu, memory, bytes] = (["cpu", "memory", "bytes"] as const).map((key) => median(usages.map((u) => u[key])));
    console.log(
      `  ${name.padEnd(24)} ${cpu?.toFixed(2).padStart(6)} s CPU ${memory?.toFixed(0).padStart(6)} MiB ` +
        `${((bytes ?? 0) / 1e6).toFixed(2).padStart(6)} MB out`,
    );
  }
  return figures;
}

function ratio(figures: Figures, subject: PluginName, peer: PluginName): number {
  const peers = figures.get(peer) ?? [];
  return median((figures.get(subject) ?? []).map(({ cpu }, round) => cpu / (peers[round]?.cpu ?? Number.NaN)));
}

function cpuOf(figures: Figures, name: PluginName): number {
  return median((figures.get(name) ?? []).map(({ cpu }) => cpu));
}

function goal(title: string, value: number, limit: number, digits = 3): void {
  const verdict = value <= limit ? "met" : "MISSED";
  console.log(`  ${title}: ${value.toFixed(digits)} (goal: at most ${limit}) ${verdict}`);
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

function build(protos: ReadonlyMap<string, string>): FileDescriptorSet {
  const folder = mkdtempSync(join(tmpdir(), "triple-es-bench-"));
  try {
    for (const [path, content] of protos) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(root, "node_modules/@bufbuild/buf/bin/buf"), "build", "--as-file-descriptor-set", "-o", "-"],
      { cwd: folder, maxBuffer: 2 ** 30 },
    );
    if (status !== 0) throw new Error(`buf build failed: ${stderr}`);
    return fromBinary(FileDescriptorSetSchema, stdout);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
