/**
 * `npm run interop:grpc`: the functional cases of gRPC's interop description between us and other implementations, in
 * both directions, in cleartext and over TLS, and through a proxy. Prints a matrix and every failure. Words choose among
 * the columns: `npm run interop:grpc -- java`, or `-- health` for health that clients watch, `-- load` for load reports. `--prepare` installs and builds the peers, and runs nothing.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasOpenssl } from "../../support/certificate.ts";
import { type Credentials, failureOf, type Target, unlessMissing, writeCredentials } from "../peer.ts";
import type { Running } from "../program.ts";
import { type CaseName, caseNames } from "./cases.ts";
import type { Peer, PeerSetup } from "./peer.ts";
import { setUpGo } from "./peers/go.ts";
import { setUpGrpcJs } from "./peers/grpc-js.ts";
import { setUpJava } from "./peers/java.ts";
import { nginxVersion, startNginx } from "./peers/nginx.ts";
import { setUpPython } from "./peers/python.ts";
import { runTripleCase, startTripleServer } from "./triple.ts";

const SETUPS: Readonly<Record<string, PeerSetup>> = {
  "grpc-go": setUpGo,
  "grpc-java": setUpJava,
  "grpc-js": setUpGrpcJs,
  grpcio: setUpPython,
};

type RunCase = (name: CaseName, target: Target) => Promise<unknown>;
type StartServer = (credentials: Credentials | undefined) => Promise<Running>;

/** One column of the matrix: a client, a server, and the cases that can be run between them. */
interface Column {
  readonly title: string;
  readonly cases: readonly CaseName[];
  readonly credentials: Credentials;
  readonly runCase: RunCase;
  readonly startServer: StartServer;
  readonly partialCases: readonly CaseName[];
  /** The outcomes of the cases, in cleartext and over TLS: `undefined`, or the error. */
  readonly results: Map<CaseName, (string | undefined)[]>;
}

function column(
  title: string,
  cases: readonly CaseName[],
  credentials: Credentials,
  runCase: RunCase,
  startServer: StartServer,
  partialCases: readonly CaseName[] = [],
): Column {
  return { title, cases, credentials, runCase, startServer, partialCases, results: new Map() };
}

/**
 * Cases that cannot be judged through nginx: it answers with 502 if the server resets the stream at the deadline of the call, a
 * millisecond, before the timer of the client fires.
 */
const NOT_BEHIND_NGINX: readonly CaseName[] = ["timeout_on_sleeping_server"];

/** A column of calls through nginx. */
function columnBehindNginx(
  title: string,
  cases: readonly CaseName[],
  credentials: Credentials,
  runCase: RunCase,
  startServer: StartServer,
): Column {
  const judged = cases.filter((name) => !NOT_BEHIND_NGINX.includes(name));
  return column(title, judged, credentials, runCase, behindNginx(startServer));
}

/** A server behind nginx. */
function behindNginx(startServer: StartServer): StartServer {
  return async (credentials) => {
    const server = await startServer(credentials);
    const proxy = await startNginx({ port: server.port, credentials });
    const stop = async (): Promise<void> => {
      await proxy.stop();
      await server.stop();
    };
    return { port: proxy.port, stop };
  };
}

async function runColumn({ title, cases, credentials, runCase, startServer, results }: Column): Promise<void> {
  const start = Date.now();
  for (const own of [undefined, credentials]) {
    const server = await startServer(own);
    for (const name of cases) {
      const failure = await failureOf(runCase(name, { port: server.port, credentials: own }));
      results.set(name, [...(results.get(name) ?? []), failure]);
    }
    await server.stop();
  }
  const failed = [...results.values()].flat().filter((failure) => failure !== undefined).length;
  const took = ((Date.now() - start) / 1000).toFixed(1);
  console.log(`${title}: ${cases.length * 2 - failed} of ${cases.length * 2} passed (${took} s)`);
}

/** Runs the scenarios of several servers that the words choose. Returns `undefined`, or the error, for each. */
async function runScenarios(peers: readonly Peer[]): Promise<(string | undefined)[]> {
  const results: (string | undefined)[] = [];
  for (const { name, scenarios = {} } of peers) {
    for (const [scenario, run] of Object.entries(scenarios)) {
      const title = `us -> ${name} ${scenario}`;
      if (!process.argv.slice(2).every((word) => title.includes(word))) continue;
      const failure = await failureOf(run());
      console.log(`${title}: ${failure ?? "passed"}`);
      results.push(failure);
    }
  }
  return results;
}

function printMatrix(columns: readonly Column[]): void {
  const heads = columns.map(({ title }) => title);
  const cell = ({ results, partialCases }: Column, name: CaseName): string => {
    const passed = partialCases.includes(name) ? "part" : "ok";
    return (
      results
        .get(name)
        ?.map((failure) => (failure === undefined ? passed : "FAIL"))
        .join(" ") ?? "-"
    );
  };
  const totals = (i: 0 | 1): string[] =>
    columns.map(({ results, cases }) => {
      const passed = [...results.values()].filter((both) => both[i] === undefined).length;
      return `${passed}/${cases.length}`;
    });
  const rows = [
    ["(cleartext, then TLS)", ...heads],
    ...caseNames.map((name) => [name, ...columns.map((one) => cell(one, name))]),
    ["passed in cleartext", ...totals(0)],
    ["passed over TLS", ...totals(1)],
  ];
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0))) ?? [];
  console.log();
  for (const row of rows) console.log(row.map((text, i) => text.padEnd(widths[i] ?? 0)).join(" | "));
  console.log();
  console.log("-     the peer does not have the case");
  console.log(
    "part  passed, but the peer's library does not tell what was compressed, or send a message as it is on demand",
  );
  console.log();
  for (const { title, results } of columns) {
    for (const [name, both] of results) {
      both.forEach((failure, i) => {
        if (failure !== undefined)
          console.log(`FAILED ${title} ${name} ${i === 0 ? "in cleartext" : "over TLS"}:\n${failure}\n`);
      });
    }
  }
}

async function main(): Promise<number> {
  if (!hasOpenssl) throw new Error("openssl is needed for certificates, and is not on the PATH");
  const folder = mkdtempSync(join(tmpdir(), "triple-es-interop-"));
  const peers: Peer[] = [];
  try {
    const credentials = writeCredentials(folder);
    const skipped: string[] = [];
    for (const [name, setUp] of Object.entries(SETUPS)) {
      const peer = await unlessMissing(name, skipped, () => setUp(credentials));
      if (peer !== undefined) peers.push(peer);
    }
    const nginx = await unlessMissing("nginx", skipped, nginxVersion);
    const versions = peers.map(({ name, version }) => `${name} ${version}`);
    console.log(`Node ${process.version}, ${versions.join(", ")}${nginx === undefined ? "" : `, nginx ${nginx}`}`);
    for (const line of skipped) console.log(line);
    if (process.argv[2] === "--prepare") return 0;

    const columns = peers.flatMap((peer) => [
      column(
        `${peer.name} -> us`,
        peer.clientCases,
        peer.credentials,
        peer.runCase,
        startTripleServer,
        peer.partialCases,
      ),
      column(`us -> ${peer.name}`, peer.serverCases, peer.credentials, runTripleCase, peer.startServer),
    ]);
    if (nginx !== undefined) {
      columns.push(columnBehindNginx("us -> nginx -> us", caseNames, credentials, runTripleCase, startTripleServer));
      const [peer] = peers;
      if (peer !== undefined) {
        const { name, clientCases, serverCases, runCase, startServer } = peer;
        columns.push(
          columnBehindNginx(`${name} -> nginx -> us`, clientCases, peer.credentials, runCase, startTripleServer),
        );
        columns.push(
          columnBehindNginx(`us -> nginx -> ${name}`, serverCases, peer.credentials, runTripleCase, startServer),
        );
      }
    }
    const wanted = columns.filter(({ title }) => process.argv.slice(2).every((word) => title.includes(word)));
    for (const { start } of peers) await start?.();
    for (const one of wanted) await runColumn(one);
    const scenarios = await runScenarios(peers);
    if (wanted.length > 0) printMatrix(wanted);
    const all = [...wanted.flatMap(({ results }) => [...results.values()].flat()), ...scenarios];
    const failed = all.filter((failure) => failure !== undefined).length;
    console.log(`${all.length - failed} passed, ${failed} failed, ${skipped.length} peers skipped`);
    return failed === 0 ? 0 : 1;
  } finally {
    await Promise.all(peers.map((peer) => peer.stop?.()));
    rmSync(folder, { recursive: true });
  }
}

process.exitCode = await main();
