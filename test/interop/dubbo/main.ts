/**
 * `npm run interop:dubbo`: what Triple promises between us and Dubbo for Java and dubbo-go, in both directions. Prints a
 * matrix and everything that is not as it has to be. Words choose among tables and columns: `npm run interop:dubbo -- Java`.
 *
 * `--registries` runs providers and consumers in a registry instead. `--prepare` installs and builds the peers, and runs
 * nothing.
 *
 * `--write` puts the matrix into docs/interop.md, `--record` what Dubbo for Java sends into fixtures/wire/dubbo.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasOpenssl } from "../../support/certificate.ts";
import { unlessMissing, writeCredentials } from "../peer.ts";
import { checkDocument, writeDocument } from "./document.ts";
import { KeptServers } from "./kept-servers.ts";
import { type Column, countOf, formatResult, problemsOf, runTable, type Table } from "./matrix.ts";
import type { DubboPeer } from "./peer.ts";
import { setUpGo } from "./peers/go.ts";
import { JAVA_VERSIONS, setUpJava } from "./peers/java.ts";
import { recordJava } from "./record.ts";
import { runRegistries } from "./registries.ts";
import { tablesOf } from "./tables.ts";

/** The exit status that the check recognizes as "cannot run here". */
const CANNOT_RUN = 3;

const words = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const options = new Set(process.argv.slice(2).filter((word) => word.startsWith("--")));

const isWanted = (table: Table, column: Column): boolean =>
  words.every((word) => table.title.includes(word) || column.title.includes(word));

async function main(): Promise<number> {
  if (options.has("--registries")) {
    const failed = await runRegistries(words);
    return failed === undefined ? CANNOT_RUN : Math.min(failed, 1);
  }
  if (!hasOpenssl) throw new Error("openssl is needed for certificates, and is not on the PATH");
  const folder = mkdtempSync(join(tmpdir(), "triple-es-interop-"));
  const servers = new KeptServers();
  try {
    const credentials = writeCredentials(folder);
    const skipped: string[] = [];
    const setUps: [string, () => DubboPeer][] = [
      ...JAVA_VERSIONS.map((one): [string, () => DubboPeer] => [one.name, () => setUpJava(one)]),
      ["dubbo-go", setUpGo],
    ];
    const peers: DubboPeer[] = [];
    for (const [name, setUp] of setUps) {
      const peer = await unlessMissing(name, skipped, setUp);
      if (peer !== undefined) peers.push(servers.keep(peer));
    }
    const versions = `Node ${process.version}, ${peers.map(({ name, version }) => `${name} (${version})`).join(", ")}`;
    console.log(versions);
    for (const line of skipped) console.log(line);
    if (peers.length === 0) return CANNOT_RUN;
    if (options.has("--prepare")) return 0;

    if (options.has("--record")) {
      await recordJava();
      return 0;
    }
    const results = [];
    for (const table of tablesOf(peers, credentials)) {
      const columns = table.columns.filter((column) => isWanted(table, column));
      if (columns.length > 0) results.push(await runTable({ ...table, columns }));
    }
    const matrix = results.map(formatResult).join("\n");
    console.log(`\n${matrix}`);
    const problems = results.flatMap(problemsOf);
    const whole = skipped.length === 0 && words.length === 0;
    if (options.has("--write") && whole) writeDocument(versions, matrix);
    else if (whole) problems.push(...checkDocument(matrix));
    for (const problem of problems) console.log(`${problem}\n`);
    const counts = results.map(countOf);
    const passed = counts.reduce((sum, count) => sum + count.passed, 0);
    const unsupported = counts.reduce((sum, count) => sum + count.unsupported, 0);
    console.log(
      `${passed} passed, ${problems.length} failed, ${unsupported} unsupported, ${skipped.length} peers skipped`,
    );
    return problems.length === 0 ? 0 : 1;
  } finally {
    await servers.stop();
    rmSync(folder, { recursive: true });
  }
}

process.exitCode = await main();
