/**
 * `npm run corpus`: generates code for every proto of google-proto-files that has a service, in several modes, and
 * type-checks all of it; then codecs of all messages, which encode and decode a random value of each message beside
 * protobuf-es; then the routes of all rules of google.api.http. The messages of protoc-gen-es take most of the time; they are
 * kept for the next run. `--only` runs one mode; `--compiler` names the package of another TypeScript: `ts59` or `ts60`.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { create } from "@bufbuild/protobuf";
import { CodeGeneratorRequestSchema, type FileDescriptorProto } from "@bufbuild/protobuf/wkt";
import { plugin } from "../../src/plugin/plugin.ts";
import { root } from "../plugin/support/protos.ts";
import { compileCorpus } from "./descriptors.ts";
import { typeCheck, writeMessages } from "./messages.ts";
import { writeFiles } from "./output.ts";
import { ROUND_TRIP_PARAMETER, roundTrip } from "./round-trip.ts";
import { KNOWN_CONFLICTS, routeCorpus } from "./routes.ts";

interface Mode {
  readonly name: string;
  readonly parameter: string;
  /** True if the code does not refer to the messages of protoc-gen-es. */
  readonly isPlain?: true;
  /** True if files without a service are generated too. */
  readonly isWhole?: true;
}

/** Variants of generated code. */
const modes: readonly Mode[] = [
  { name: "default", parameter: "target=ts,import_extension=js,codecs=false" },
  {
    name: "extras",
    parameter: "target=ts,import_extension=js,codecs=false,server_base=true,fakes=true,java_names=true",
  },
  { name: "declarations", parameter: "target=js+dts,import_extension=js,codecs=false" },
  { name: "expanded", parameter: "target=ts,import_extension=js,codecs=false,init_types=expanded" },
  { name: "json", parameter: "target=ts,import_extension=js,messages=json", isPlain: true },
  { name: "codecs", parameter: "target=ts,import_extension=js", isWhole: true },
];
/** Further values of `--only`. */
const ROUND_TRIP = "round-trip";
const ROUTES = "routes";

const { values } = parseArgs({
  options: { only: { type: "string" }, compiler: { type: "string", default: "typescript" } },
});
const isWanted = (name: string): boolean => (values.only ?? name) === name;
if (![...modes.map(({ name }) => name), ROUND_TRIP, ROUTES].some(isWanted)) {
  throw new Error(`--only is one of ${modes.map(({ name }) => name).join(", ")}, ${ROUND_TRIP}, ${ROUTES}`);
}
const folder = join(root, ".ci/cache/corpus");
const begun = performance.now();

say("compiling google-proto-files with buf");
const set = compileCorpus();
const files = set.file.filter(({ service }) => service.length > 0);
const services = files.flatMap(({ service }) => service);
const rpcs = services.flatMap(({ method }) => method);
done(`${set.file.length} proto files: ${files.length} with ${services.length} services and ${rpcs.length} rpcs`);

const wanted = modes.filter(({ name }) => isWanted(name));
const own = set.file.filter(({ name }) => !name.startsWith("google/protobuf/"));
const typed = wanted.some(({ isWhole }) => isWhole) ? own : wanted.some(({ isPlain }) => !isPlain) ? files : [];
await writeMessages(set, typed, folder, (count, all) => say(`messages by protoc-gen-es: ${count} of ${all} files`));
done("messages are there");

let failures = 0;
for (const { name, parameter, isPlain, isWhole } of wanted) {
  say(`${name}: generating`);
  const { generated, seconds } = generate(isWhole ? own : files, parameter);
  const megabytes = generated.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0) / 1e6;
  const outputs = isPlain ? join(folder, name) : folder;
  writeFiles(outputs, generated);
  say(`${name}: type-checking ${generated.length} files`);
  const start = performance.now();
  const diagnostics = await typeCheck(
    outputs,
    ["**/*_triple.ts", "**/*_triple.d.ts", "**/*_codec.ts"],
    values.compiler,
  );
  const checked = (performance.now() - start) / 1000;
  for (const { name } of generated) rmSync(join(outputs, name));
  failures += diagnostics.length;
  done(
    `${name} (${parameter}): ${generated.length} files, ${megabytes.toFixed(1)} MB in ${seconds.toFixed(1)} s; ` +
      `type-checked in ${checked.toFixed(0)} s, ${diagnostics.length} diagnostics`,
  );
  for (const line of diagnostics.slice(0, 20)) console.log(`  ${line}`);
}
if (isWanted(ROUND_TRIP)) {
  say(`${ROUND_TRIP}: generating, encoding and decoding`);
  const { generated } = generate(own, ROUND_TRIP_PARAMETER);
  const { messages, failures: differing } = roundTrip(set, generated);
  failures += differing.length;
  done(`${ROUND_TRIP} (${ROUND_TRIP_PARAMETER}): ${messages} messages, ${differing.length} failures`);
  for (const line of differing.slice(0, 20)) console.log(`  ${line}`);
}
if (isWanted(ROUTES)) {
  say(`${ROUTES}: reading the rules of google.api.http`);
  const { routes, invalid, conflicts, lost } = routeCorpus(set);
  const unknown = conflicts.filter((one) => !KNOWN_CONFLICTS.some((known) => known.test(one)));
  failures += unknown.length + lost.length;
  done(
    `${ROUTES}: ${routes} routes, ${lost.length} that another one hides, ${conflicts.length} conflicts, ` +
      `${unknown.length} of them unknown, ${invalid.length} invalid rules`,
  );
  for (const line of [...invalid, ...unknown, ...lost].slice(0, 40)) console.log(`  ${line}`);
}
console.log(`${failures} diagnostics and failures in all, after ${((performance.now() - begun) / 1000).toFixed(0)} s`);
process.exitCode = failures === 0 ? 0 : 1;

function generate(wanted: readonly FileDescriptorProto[], parameter: string) {
  const start = performance.now();
  const { error, file } = plugin.run(
    create(CodeGeneratorRequestSchema, {
      parameter,
      protoFile: set.file,
      fileToGenerate: wanted.map(({ name }) => name),
    }),
  );
  if (error !== "") throw new Error(error);
  return { generated: file, seconds: (performance.now() - start) / 1000 };
}

/** Prints a line that the next one overwrites, if stdout is a terminal. */
function say(text: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r\u001b[K${text}` : `${text}\n`);
}

function done(text: string): void {
  if (process.stderr.isTTY) process.stderr.write("\r\u001b[K");
  console.log(text);
}
