/** The figures of the arenas: `figures.json` with the conditions of the run, and a plot of each arena in `plots`. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { type Spread, spread } from "../contests/measurement.ts";
import { rounded } from "../figures.ts";
import { describeMachine, type Machine } from "../machine.ts";
import { plotOf } from "../plot.ts";
import { type Arena, ours } from "./arenas.ts";

/** One run of a generator against one server. */
export interface Measurement {
  /** CPU time of all threads of the server, per answered call. */
  readonly cpuMicros: number;
  readonly callsPerSecond: number;
  /** The share of the time that the server was on a CPU. */
  readonly busy: number;
  /** The share of the calls that failed. They are not counted as calls, but their CPU time is. */
  readonly failed: number;
}

/** An arena, with the versions of its servers, and their measurements in the order of the rounds. */
export interface Result {
  readonly name: string;
  readonly arena: Arena;
  readonly versions: ReadonlyMap<string, string>;
  readonly rounds: ReadonlyMap<string, readonly Measurement[]>;
}

interface ServerFigures {
  readonly version: string;
  readonly cpuMicros: Spread;
  readonly callsPerSecond: Spread;
  readonly busy: Spread;
  readonly failed: Spread;
  /** The CPU time of triple-es divided by that of this server, round by round; its median. */
  readonly ratio?: number;
}

export interface Figures {
  readonly command: string;
  readonly date: string;
  /** The load average at the beginning and at the end of the run, over a minute. */
  readonly load: readonly [begin: number, end: number];
  readonly machine: Pick<Machine, "node" | "processor" | "cores" | "pinned">;
  readonly skipped: readonly string[];
  readonly arenas: readonly {
    readonly name: string;
    readonly title: string;
    readonly shape: string;
    readonly servers: Readonly<Record<string, ServerFigures>>;
  }[];
}

/** Summarizes a run. */
export function figuresOf(
  args: readonly string[],
  begin: number,
  results: readonly Result[],
  skipped: readonly string[],
): Figures {
  const { node, processor, cores, pinned } = describeMachine();
  return {
    command: `npm run bench:arena${args.length > 0 ? ` -- ${args.join(" ")}` : ""}`,
    date: new Date().toISOString().slice(0, 10),
    load: [rounded(begin), rounded(loadavg()[0] ?? 0)],
    machine: { node, processor, cores, pinned },
    skipped,
    arenas: results.map(({ name, arena: { title, shape }, versions, rounds }) => {
      const own = rounds.get(ours);
      const servers = Array.from(rounds, ([server, measurements]): [string, ServerFigures] => {
        const figure = (key: keyof Measurement): Spread => {
          const { median, min, max } = spread(measurements.map((one) => one[key]));
          return { median: rounded(median), min: rounded(min), max: rounded(max) };
        };
        const ratios = own?.map(({ cpuMicros }, round) => cpuMicros / (measurements[round]?.cpuMicros ?? Number.NaN));
        return [
          server,
          {
            version: versions.get(server) ?? "",
            cpuMicros: figure("cpuMicros"),
            callsPerSecond: figure("callsPerSecond"),
            busy: figure("busy"),
            failed: figure("failed"),
            ...(server !== ours && ratios !== undefined && { ratio: rounded(spread(ratios).median) }),
          },
        ];
      });
      return { name, title, shape, servers: Object.fromEntries(servers) };
    }),
  };
}

/** The table of a run, in Markdown. */
export function tableOf({ command, date, load, machine, skipped, arenas }: Figures): string {
  const { pinned } = machine;
  const cpus =
    pinned === undefined
      ? "not tied to CPUs"
      : `the server on CPU ${pinned.subject}, the generator on CPU ${pinned.other}`;
  const rows = arenas.flatMap(({ title, shape, servers }) => [
    "",
    `${title} (${shape})`,
    "",
    "| server | CPU us/call | min - max | calls/s | busy | failed | triple-es / server |",
    "|---|---|---|---|---|---|---|",
    ...Object.entries(servers).map(([name, { version, cpuMicros, callsPerSecond, busy, failed, ratio }]) => {
      const cells = [
        `${name} ${version}`,
        cpuMicros.median,
        `${cpuMicros.min} - ${cpuMicros.max}`,
        callsPerSecond.median,
        `${Math.round(busy.median * 100)} %`,
        `${(failed.max * 100).toFixed(1)} %`,
        ratio ?? "",
      ];
      return `| ${cells.join(" | ")} |`;
    }),
  ]);
  const conditions = conditionsOf(date, machine, load);
  return [`${command}: ${conditions}, ${cpus}`, ...rows, "", ...skipped].join("\n");
}

export function writeFigures(figures: Figures): void {
  const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
  writeFileSync(path("figures.json"), `${JSON.stringify(figures, undefined, 2)}\n`);
  rmSync(path("plots"), { recursive: true, force: true });
  mkdirSync(path("plots"));
  for (const [name, plot] of plotsOf(figures)) writeFileSync(path(`plots/${name}`), plot);
}

/** The plots by the names of their files. */
export function plotsOf({ date, load, machine, arenas }: Figures): ReadonlyMap<string, string> {
  const conditions = conditionsOf(date, machine, load);
  return new Map(
    arenas.map(({ name, title, shape, servers }) => {
      const rows = Object.entries(servers).map(([server, { cpuMicros, ratio }]) => ({
        name: server,
        value: cpuMicros,
        ratio,
      }));
      const versions = Object.entries(servers).map(([server, { version }]) => `${server} ${version}`);
      const half = Math.ceil(versions.length / 2);
      const notes = [conditions, shape, versions.slice(0, half).join(", "), versions.slice(half).join(", ")];
      return [`${name}.svg`, plotOf({ title, unit: "CPU us per call, less is better", rows, notes })];
    }),
  );
}

function conditionsOf(date: string, { node, cores, processor }: Figures["machine"], load: Figures["load"]): string {
  return `${date}, Node ${node}, ${cores} x ${processor}, load average ${load.join(" to ")}`;
}
