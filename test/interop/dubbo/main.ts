/**
 * `npm run interop:dubbo`: what Triple promises between us and Dubbo for Java and dubbo-go, in both directions. Prints a
 * matrix and everything that is not as it has to be. Words choose among the columns: `npm run interop:dubbo -- Java`.
 *
 * `--write` puts the matrix into docs/interop.md, `--record` what Dubbo for Java sends into fixtures/wire/dubbo.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasOpenssl } from "../../support/certificate.ts";
import { type Credentials, unlessMissing, writeCredentials } from "../peer.ts";
import { caseNames } from "./cases.ts";
import { checkDocument, writeDocument } from "./document.ts";
import { httpRpcCaseNames, runHttpRpcCases } from "./http-rpc.ts";
import { type Column, countOf, formatResult, type Outcomes, problemsOf, runTable, type Table } from "./matrix.ts";
import type { DubboPeer } from "./peer.ts";
import { setUpGo } from "./peers/go.ts";
import { JAVA_VERSIONS, setUpJava } from "./peers/java.ts";
import { recordJava } from "./record.ts";
import { runTripleCases, startTripleServer } from "./triple.ts";
import { UNSUPPORTED } from "./unsupported.ts";

/** What the runner of the checks takes for "cannot be run here". */
const CANNOT_RUN = 3;

const words = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const options = new Set(process.argv.slice(2).filter((word) => word.startsWith("--")));

function withIdl(peers: readonly DubboPeer[], credentials: Credentials): Table {
  const ways = ["cleartext", "TLS"];
  const both = [undefined, credentials];
  const columns = peers.flatMap((peer): Column[] => [
    {
      title: `us → ${peer.name}`,
      ways,
      unsupported: {},
      run: () =>
        inTurn(both, async (own) => {
          const server = await peer.startServer(own);
          try {
            return await runTripleCases(caseNames, { port: server.port, credentials: own }, peer);
          } finally {
            await server.stop();
          }
        }),
    },
    {
      title: `${peer.name} → us`,
      ways,
      unsupported: {},
      run: () =>
        inTurn(both, async (own) => {
          const server = await startTripleServer(own);
          try {
            const outcomes = await peer.runClient({ port: server.port, credentials: own });
            return new Map([...outcomes].filter(([name]) => isCase(name)).concat([...server.outcomes()]));
          } finally {
            await server.stop();
          }
        }),
    },
  ]);
  return { title: "gRPC with proto files", cases: caseNames, columns: columns.map(withReasons).filter(isWanted) };
}

function httpRpc(peers: readonly DubboPeer[]): Table {
  const versions = ["1.1", "2"] as const;
  const columns = peers
    .filter(({ httpRpc: has }) => has)
    .map(
      (peer): Column => ({
        title: `us → ${peer.name} (HTTP RPC)`,
        ways: versions.map((version) => `HTTP/${version}`),
        unsupported: {},
        run: () =>
          inTurn(versions, async (httpVersion) => {
            const server = await peer.startServer(undefined);
            try {
              const { javaNames } = peer;
              return await runHttpRpcCases({ port: server.port, credentials: undefined }, { httpVersion, javaNames });
            } finally {
              await server.stop();
            }
          }),
      }),
    );
  for (const { name, runHttpClient } of peers) {
    if (runHttpClient === undefined) continue;
    columns.push({
      title: `${name} → us (HTTP RPC)`,
      ways: [""],
      unsupported: {},
      run: () =>
        inTurn([undefined], async () => {
          const server = await startTripleServer(undefined);
          try {
            return await runHttpClient(server.port);
          } finally {
            await server.stop();
          }
        }),
    });
  }
  return {
    title: "HTTP RPC with proto files",
    cases: httpRpcCaseNames,
    columns: columns.map(withReasons).filter(isWanted),
  };
}

async function inTurn<T>(items: readonly T[], run: (item: T) => Promise<Outcomes>): Promise<Outcomes[]> {
  const outcomes: Outcomes[] = [];
  for (const item of items) outcomes.push(await run(item));
  return outcomes;
}

const isCase = (name: string): boolean => caseNames.some((one) => one === name);
const withReasons = (column: Column): Column => ({ ...column, unsupported: UNSUPPORTED[column.title] ?? {} });
const isWanted = ({ title }: Column): boolean => words.every((word) => title.includes(word));

async function main(): Promise<number> {
  if (!hasOpenssl) throw new Error("openssl is needed for certificates, and is not on the PATH");
  const folder = mkdtempSync(join(tmpdir(), "triple-es-interop-"));
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
      if (peer !== undefined) peers.push(peer);
    }
    const versions = `Node ${process.version}, ${peers.map(({ name, version }) => `${name} (${version})`).join(", ")}`;
    console.log(versions);
    for (const line of skipped) console.log(line);
    if (peers.length === 0) return CANNOT_RUN;

    if (options.has("--record")) {
      await recordJava();
      return 0;
    }
    const results = [];
    const tables = [withIdl(peers, credentials), httpRpc(peers)].filter(({ columns }) => columns.length > 0);
    for (const table of tables) results.push(await runTable(table));
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
    rmSync(folder, { recursive: true });
  }
}

process.exitCode = await main();
