#!/usr/bin/env node
/** The executable that buf and protoc start. It reads a request from stdin and writes generated files to stdout. */
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { CodeGeneratorRequestSchema, CodeGeneratorResponseSchema } from "@bufbuild/protobuf/wkt";
import { optionsHelp } from "./plugin/options.ts";
import { plugin } from "./plugin/plugin.ts";

// A reader that closes the pipe early, such as head, must not cause a crash or a stack trace.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exitCode = 1;
});

const [argument] = process.argv.slice(2);
if (argument === "--help" || argument === "-h") {
  process.stdout.write(optionsHelp);
} else if (argument === "--version" || argument === "-v") {
  process.stdout.write(`${plugin.name} ${plugin.version}\n`);
} else if (argument !== undefined) {
  fail(`there is no flag "${argument}", try --help`);
} else {
  answer(await readStdin());
}

function answer(bytes: Uint8Array): void {
  let request: ReturnType<typeof readRequest>;
  try {
    request = readRequest(bytes);
  } catch (error) {
    fail(`stdin is not a CodeGeneratorRequest: ${error instanceof Error ? error.message : error}`);
    return;
  }
  process.stdout.write(toBinary(CodeGeneratorResponseSchema, plugin.run(request)));
}

function readRequest(bytes: Uint8Array) {
  return fromBinary(CodeGeneratorRequestSchema, bytes);
}

async function readStdin(): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks);
}

function fail(message: string): void {
  process.stderr.write(`${plugin.name}: ${message}\n`);
  process.exitCode = 1;
}
