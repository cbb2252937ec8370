/** Records the messages of Dubbo for Java for an interface without a proto file: fixtures/wire/dubbo. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../support/documents.ts";
import { runProgram } from "../program.ts";
import { JAVA_VERSIONS, javaCommand, setUpJava } from "./peers/java.ts";
import { startRecorder } from "./recorder.ts";

const FOLDER = join(ROOT, "fixtures", "wire", "dubbo");

/** Records calls between its client and its server, and values written by its encoder of Hessian 2. */
export async function recordJava(): Promise<void> {
  const [newest] = JAVA_VERSIONS;
  const java = setUpJava(newest);
  const server = await java.startServer(undefined);
  try {
    const recorder = await startRecorder(server.port);
    await runProgram([...javaCommand(newest, "Main"), "plain", String(recorder.port)]);
    await recorder.close();
    const lines = recorder.calls.map((call) => JSON.stringify(call));
    write("calls.json", `[\n${lines.join(",\n")}\n]\n`);
  } finally {
    await server.stop();
  }
  const lines = (await runProgram(javaCommand(newest, "Vectors"))).split("\n").filter((line) => line.includes("\t"));
  const values = lines.map((line) => line.split("\t").map((part) => JSON.stringify(part)));
  write("hessian-values.json", `{\n${values.map(([name, hex]) => `  ${name}: ${hex}`).join(",\n")}\n}\n`);
}

function write(name: string, text: string): void {
  writeFileSync(join(FOLDER, name), text);
}
