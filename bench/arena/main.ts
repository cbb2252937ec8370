/** `npm run bench:arena`: our entries for public benchmarks of servers beside peers, with the load generators of those benchmarks. */
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { type RunningProgram, startProgram } from "../../test/interop/program.ts";
import { processCpuMicros } from "../cpu-time.ts";
import { pinnedCpus } from "../machine.ts";
import { type Arena, arenas, type Drive } from "./arenas.ts";
import { figuresOf, type Measurement, type Result, tableOf, writeFigures } from "./figures.ts";

const usage = `usage: npm run bench:arena -- [options]

Compares the CPU time of a call in public benchmarks of servers. What is missing is built once in .ci/cache, or skipped
with a note.

  --rounds N     visits to every server (default 5)
  --seconds S    length of each visit in seconds (default 5); each server is warmed up for four times that time
  --only A,B     only these arenas or servers
  --json         prints the figures as JSON instead of tables
  --write        also writes bench/arena/figures.json and plots
  --help         prints this

arenas:  ${Object.keys(arenas).join(", ")}
servers: ${serverNames().join(", ")}
`;

interface Options {
  readonly rounds: number;
  readonly seconds: number;
  readonly only: readonly string[];
}

try {
  const args = process.argv.slice(2);
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "5" },
      only: { type: "string", default: "" },
      json: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) process.stdout.write(usage);
  else {
    const [rounds, seconds] = [positive("rounds", values.rounds), positive("seconds", values.seconds)];
    const only = values.only.split(",").filter((name) => name !== "");
    const unknown = only.find((name) => arenas[name] === undefined && !serverNames().includes(name));
    if (unknown !== undefined) throw new RangeError(`there is no arena or server ${unknown}\n\n${usage}`);
    const [begin = 0] = loadavg();
    const skipped: string[] = [];
    const results = await run({ rounds, seconds, only }, skipped);
    const figures = figuresOf(args, begin, results, skipped);
    if (values.write) writeFigures(figures);
    process.stdout.write(`${values.json ? JSON.stringify(figures, undefined, 2) : tableOf(figures)}\n`);
  }
} catch (error) {
  progress(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

function serverNames(): string[] {
  return [...new Set(Object.values(arenas).flatMap(({ servers }) => Object.keys(servers)))];
}

async function run({ rounds, seconds, only }: Options, skipped: string[]): Promise<Result[]> {
  const named = Object.keys(arenas).some((name) => only.includes(name));
  const onlyServers = only.filter((name) => arenas[name] === undefined);
  const results: Result[] = [];
  for (const [name, arena] of Object.entries(arenas)) {
    if (named && !only.includes(name)) continue;
    const chosen = Object.keys(arena.servers).filter(
      (server) => onlyServers.length === 0 || onlyServers.includes(server),
    );
    const pinned = pinnedCpus();
    const drive = await orSkip(name, skipped, async () => arena.generator(pinTo(pinned?.other)));
    if (drive !== undefined) {
      results.push(await visit(name, arena, chosen, drive, pinTo(pinned?.subject), rounds, seconds, skipped));
    }
  }
  return results;
}

interface Started {
  readonly server: string;
  readonly program: RunningProgram;
  /** The calls/s of the latest run. */
  rate: number | undefined;
}

/** Starts the servers, checks and warms them up, and visits them in turn, each round beginning with the next one. */
async function visit(
  name: string,
  arena: Arena,
  chosen: readonly string[],
  drive: Drive,
  pinned: readonly string[],
  rounds: number,
  seconds: number,
  skipped: string[],
): Promise<Result> {
  const versions = new Map<string, string>();
  const measured = new Map<string, Measurement[]>();
  const started: Started[] = [];
  try {
    for (const server of chosen) {
      await orSkip(`${server} in ${name}`, skipped, async () => {
        const setUp = arena.servers[server]?.();
        if (setUp === undefined) return;
        const { version, command, ready } = setUp;
        const options = ready === undefined ? {} : { ready };
        const program = await startProgram((port) => [...pinned, ...command(port)], options);
        const one: Started = { server, program, rate: undefined };
        started.push(one);
        await arena.verify(program.port);
        progress(`${name}: warming up ${server} ${version}`);
        // The first run may be short, because the rate is not known yet.
        for (const length of [seconds, seconds, 2 * seconds]) await measure(one, drive, length);
        versions.set(server, version);
        measured.set(server, []);
      });
    }
    for (let round = 0; round < rounds; round++) {
      for (let i = 0; i < started.length; i++) {
        const one = started[(round + i) % started.length] as Started;
        const measurements = measured.get(one.server);
        if (measurements === undefined) continue;
        const measurement = await orSkip(`${one.server} in ${name}`, skipped, () => measure(one, drive, seconds));
        if (measurement === undefined) measured.delete(one.server);
        else measurements.push(measurement);
        progress(`${name}, round ${round + 1} of ${rounds}: ${one.server} ${measurement?.cpuMicros.toFixed(1)} us`);
      }
    }
  } finally {
    await Promise.all(started.map(({ program }) => program.stop()));
  }
  return { name, arena, versions, rounds: measured };
}

async function measure(one: Started, drive: Drive, seconds: number): Promise<Measurement> {
  const { pid, port } = one.program;
  const before = processCpuMicros(pid);
  const { calls, failed, seconds: took } = await drive(port, seconds, one.rate);
  const micros = processCpuMicros(pid) - before;
  one.rate = calls / took;
  return {
    cpuMicros: micros / calls,
    callsPerSecond: one.rate,
    busy: micros / 1e6 / took,
    failed: failed / (calls + failed),
  };
}

/** Runs a step. If it fails, what it belongs to is skipped, and the rest of the run goes on. */
async function orSkip<T>(name: string, skipped: string[], run: () => Promise<T>): Promise<T | undefined> {
  try {
    return await run();
  } catch (error) {
    const line = `SKIPPED ${name}: ${(error instanceof Error ? error.message : String(error)).slice(0, 500)}`;
    skipped.push(line);
    progress(line);
    return undefined;
  }
}

function pinTo(cpu: number | undefined): readonly string[] {
  return cpu === undefined ? [] : ["taskset", "-c", String(cpu)];
}

function positive(name: string, value: string): number {
  if (!(Number(value) > 0)) throw new RangeError(`--${name} wants a positive number`);
  return Number(value);
}

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}
