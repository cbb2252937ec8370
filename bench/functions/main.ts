/**
 * Counts the functions of the runtime that one warm unary gRPC call enters, on a server and on a client.
 *
 *     npm run bench:functions                 # both counts; fails above the limits in CONTRIBUTING.md
 *     npm run bench:functions -- --list       # and the functions, by file
 */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Child } from "../child.ts";

const SIDES = ["server", "client"] as const;
/** A function counts if each of these calls enters it, which leaves out what happens now and then, such as an update of a window. */
const CALLS = 5;
const WARM_UP_CALLS = 500;

const { values } = parseArgs({ options: { list: { type: "boolean", default: false } } });
const limits = readLimits();
const server = await Child.start(new URL("side.ts", import.meta.url));
const client = await Child.start(new URL("side.ts", import.meta.url));
await client.ask("connect", await server.ask<number>("serve"));
await client.ask("call", WARM_UP_CALLS);

for (const [index, side] of SIDES.entries()) {
  const functions = await enteredBy(side === "server" ? server : client);
  const limit = limits[index] ?? 0;
  console.log(`functions entered by a unary gRPC call, ${side}: ${functions.length} of ${limit}`);
  if (values.list) console.log(listOf(functions));
  if (functions.length > limit) process.exitCode = 1;
}
await Promise.all([client.stop(), server.stop()]);

/** Returns the functions that each of several calls enters on one side. */
async function enteredBy(side: Child): Promise<string[]> {
  await side.ask("startCoverage");
  await client.ask("call", CALLS);
  let common: string[] | undefined;
  for (let i = 0; i < CALLS; i++) {
    await side.ask("takeCoverage");
    await client.ask("call", 1);
    const entered = new Set(await side.ask<string[]>("takeCoverage"));
    common = common === undefined ? [...entered] : common.filter((name) => entered.has(name));
  }
  return common ?? [];
}

function listOf(functions: readonly string[]): string {
  const byFile = new Map<string, string[]>();
  for (const [file = "", ...words] of [...functions].sort().map((name) => name.split(" "))) {
    byFile.set(file, [...(byFile.get(file) ?? []), words.slice(0, -1).join(" ")]);
  }
  return Array.from(byFile, ([file, names]) => `  ${file} (${names.length}): ${names.join(", ")}`).join("\n");
}

/** Reads the limits of the server and the client from the table in CONTRIBUTING.md. */
function readLimits(): number[] {
  const text = readFileSync(new URL("../../CONTRIBUTING.md", import.meta.url), "utf8");
  const row = /^\| functions entered by a warm unary gRPC call, server \/ client \| (\d+) \/ (\d+) \|/m.exec(text);
  if (row === null) throw new Error("CONTRIBUTING.md has no limits of the functions of a call");
  return row.slice(1).map(Number);
}
