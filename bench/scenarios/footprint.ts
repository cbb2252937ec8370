/**
 * The footprint of a server: heap and external memory of an open stream, resident memory of an idle connection, and the time
 * to import the package, beside peers in one run.
 *
 *     npm run bench:footprint
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Child } from "../child.ts";
import { spread } from "../contests/measurement.ts";
import { type Client, openIdle, openStreams } from "./footprint-client.ts";

interface Memory {
  readonly heldBytes: number;
  readonly residentBytes: number;
}

const IDLE_CONNECTIONS = 1_000;
const STREAM_CONNECTIONS = 40;
const STREAMS = 100;
const IMPORTS = 11;
const KIB = 1024;

const servers = ["http2-bytes", "grpc-js", "triple"];
const goals = { stream: 1, connection: 10, importMs: 25 };

console.log("KiB of a server, after garbage collection");
for (const name of servers) console.log(name.padEnd(12), await measureServer(name));
console.log(`goals of triple: at most ${goals.stream} KiB of heap and external memory a stream,`);
console.log(`${goals.connection} KiB of resident memory a connection\n`);
measureImports();

async function measureServer(name: string): Promise<string> {
  const streams = await growth(name, (port, factor) => openStreams(port, STREAM_CONNECTIONS * factor, STREAMS));
  const connections = await growth(name, (port, factor) => openIdle(port, IDLE_CONNECTIONS * factor));
  const each = ({ heldBytes, residentBytes }: Memory, count: number): string =>
    `${kib(heldBytes / count)} held, ${kib(residentBytes / count)} resident`;
  return [
    `open stream: ${each(streams, STREAM_CONNECTIONS * STREAMS)}`,
    `idle connection: ${each(connections, IDLE_CONNECTIONS)}`,
  ].join("; ");
}

/** The memory that a server of its own needs for what clients open. */
async function growth(
  name: string,
  open: (port: number, factor: number) => Promise<readonly Client[]>,
): Promise<Memory> {
  const server = await Child.start(new URL(`../contests/servers/${name}.ts`, import.meta.url));
  const port = await server.ask<number>("port");
  // The first ones grow what all of them share.
  const first = await open(port, 1 / 4);
  const before = await server.ask<Memory>("memory");
  const clients = await open(port, 1);
  const after = await server.ask<Memory>("memory");
  for (const client of [...first, ...clients]) client.close();
  await server.stop();
  return {
    heldBytes: after.heldBytes - before.heldBytes,
    residentBytes: after.residentBytes - before.residentBytes,
  };
}

function kib(bytes: number): string {
  return (bytes / KIB).toFixed(1).padStart(5);
}

function measureImports(): void {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const modules = {
    "bare node": "",
    "node:http2": 'await import("node:http2");',
    "grpc-js": 'await import("@grpc/grpc-js");',
    "connect-node": 'await import("@connectrpc/connect-node");',
    triple: 'await import("triple-es/node");',
  };
  const report = "console.log(JSON.stringify([performance.now(), process.cpuUsage()]));";
  const times = new Map<string, { wall: number; cpu: number }[]>();
  for (let round = 0; round < IMPORTS; round++) {
    for (const [name, code] of Object.entries(modules)) {
      const args = ["--input-type=module", "-e", code + report];
      const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
      if (stdout === "") throw new Error(stderr);
      const [wall, { user, system }] = JSON.parse(stdout) as [number, NodeJS.CpuUsage];
      times.set(name, [...(times.get(name) ?? []), { wall, cpu: (user + system) / 1_000 }]);
    }
  }
  const bare = times.get("bare node") ?? [];
  console.log(`ms to import beyond bare node, medians of ${IMPORTS}`);
  for (const [name, all] of times) {
    if (name === "bare node") continue;
    const beyond = (figure: "wall" | "cpu"): string =>
      spread(all.map((time, round) => time[figure] - (bare[round]?.[figure] ?? 0)))
        .median.toFixed(0)
        .padStart(4);
    console.log(name.padEnd(12), `${beyond("wall")} ms, ${beyond("cpu")} ms of CPU`);
  }
  console.log(`goal of triple: at most ${goals.importMs} ms`);
}
