/**
 * `npm run corpus`: generates code for every proto of google-proto-files that has a service, in several modes, and
 * type-checks all of it. The messages of protoc-gen-es take most of the time; they are kept for the next run.
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

/** Variants of generated code: a name, the parameter, and whether it refers to the messages of protoc-gen-es. */
const modes: readonly [name: string, parameter: string, withMessages: boolean][] = [
  ["default", "target=ts,import_extension=js", true],
  ["extras", "target=ts,import_extension=js,server_base=true,fakes=true,java_names=true", true],
  ["declarations", "target=js+dts,import_extension=js", true],
  ["expanded", "target=ts,import_extension=js,init_types=expanded", true],
  ["json", "target=ts,import_extension=js,messages=json", false],
];

const { values } = parseArgs({ options: { only: { type: "string" } } });
const folder = join(root, ".ci/cache/corpus");
const begun = performance.now();

say("compiling google-proto-files with buf");
const set = compileCorpus();
const files = set.file.filter(({ service }) => service.length > 0);
const services = files.flatMap(({ service }) => service);
const rpcs = services.flatMap(({ method }) => method);
done(`${set.file.length} proto files: ${files.length} with ${services.length} services and ${rpcs.length} rpcs`);

await writeMessages(set, files, folder, (count, all) => say(`messages by protoc-gen-es: ${count} of ${all} files`));
done("messages are there");

let failures = 0;
for (const [name, parameter, withMessages] of modes.filter(([name]) => (values.only ?? name) === name)) {
  say(`${name}: generating`);
  const { generated, seconds } = generate(files, parameter);
  const megabytes = generated.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0) / 1e6;
  const outputs = withMessages ? folder : join(folder, name);
  writeFiles(outputs, generated);
  say(`${name}: type-checking ${generated.length} files`);
  const start = performance.now();
  const diagnostics = await typeCheck(outputs, ["**/*_triple.ts", "**/*_triple.d.ts"]);
  const checked = (performance.now() - start) / 1000;
  for (const { name } of generated) rmSync(join(outputs, name));
  failures += diagnostics.length;
  done(
    `${name} (${parameter}): ${generated.length} files, ${megabytes.toFixed(1)} MB in ${seconds.toFixed(1)} s; ` +
      `type-checked in ${checked.toFixed(0)} s, ${diagnostics.length} diagnostics`,
  );
  for (const line of diagnostics.slice(0, 20)) console.log(`  ${line}`);
}
console.log(`${failures} diagnostics in all, after ${((performance.now() - begun) / 1000).toFixed(0)} s`);
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

/** A line that is written over, where there is a terminal to do that. */
function say(text: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r\u001b[K${text}` : `${text}\n`);
}

function done(text: string): void {
  if (process.stderr.isTTY) process.stderr.write("\r\u001b[K");
  console.log(text);
}
