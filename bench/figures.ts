/**
 * The figures of the last run with `--write`, in `bench/figures.json`, with the conditions of the run, and a plot of each contest
 * in `bench/plots`.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Figure, type Spread, spread } from "./contests/measurement.ts";
import { compare, type Result } from "./contests/result.ts";
import type { Machine } from "./machine.ts";
import { plotOf } from "./plot.ts";

/** The figures of an entrant over the rounds, and the medians of the ratios of triple-es to it, round by round. */
type EntrantFigures = Readonly<Record<"cpuMicros" | "messagesPerSecond" | "p99Ms", Spread>> & {
  readonly ratios?: Readonly<Record<"cpuMicros" | "messagesPerSecond", number>>;
};

export interface Figures {
  readonly command: string;
  /** The load average at the end of the run, over a minute. */
  readonly load: number;
  readonly machine: Machine;
  readonly contests: readonly {
    readonly name: string;
    readonly title: string;
    readonly subject: string;
    readonly entrants: Readonly<Record<string, EntrantFigures>>;
  }[];
}

const here = fileURLToPath(new URL(".", import.meta.url));

/** Summarizes the results of a run with the given arguments. */
export function figuresOf(args: readonly string[], machine: Machine, results: readonly Result[]): Figures {
  return {
    command: `npm run bench -- ${args.join(" ")}`,
    load: rounded(loadavg()[0] ?? 0),
    machine,
    contests: results.map((result) => {
      const { name, title, subject } = result.contest;
      const comparisons = new Map(compare(result, results).map((one) => [one.peer, one]));
      const entrants = Array.from(result.rounds, ([entrant, measurements]): [string, EntrantFigures] => {
        const figure = (name: Figure): Spread => {
          const { median, min, max } = spread(measurements.map((one) => one[name]));
          return { median: rounded(median), min: rounded(min), max: rounded(max) };
        };
        const figures = {
          cpuMicros: figure("cpuMicros"),
          messagesPerSecond: figure("messagesPerSecond"),
          p99Ms: figure("p99Ms"),
        };
        const comparison = comparisons.get(entrant);
        if (comparison === undefined) return [entrant, figures];
        const { cpu, messagesPerSecond } = comparison;
        const ratios = { cpuMicros: rounded(cpu.median), messagesPerSecond: rounded(messagesPerSecond.median) };
        return [entrant, { ...figures, ratios }];
      });
      return { name, title, subject, entrants: Object.fromEntries(entrants) };
    }),
  };
}

export function writeFigures(figures: Figures): void {
  writeFileSync(join(here, "figures.json"), `${JSON.stringify(figures, undefined, 2)}\n`);
  rmSync(join(here, "plots"), { recursive: true, force: true });
  mkdirSync(join(here, "plots"));
  for (const [name, plot] of plotsOf(figures)) writeFileSync(join(here, "plots", name), plot);
}

/** The plots by the names of their files: the CPU time of a message, or the rate if both ends are measured. */
export function plotsOf({ machine, contests }: Figures): ReadonlyMap<string, string> {
  const { node, packages, cores, processor } = machine;
  const versions = Object.entries(packages).map(([name, version]) => `${name} ${version}`);
  const notes = [`Node ${node}, ${cores} x ${processor}`, versions.join(", ")];
  return new Map(
    contests.map(({ name, title, entrants }) => {
      const figure = name.startsWith("b-both") ? "messagesPerSecond" : "cpuMicros";
      const rows = Object.entries(entrants).map(([entrant, figures]) => ({
        name: entrant,
        value: figures[figure],
        ratio: figures.ratios?.[figure],
      }));
      const unit = figure === "cpuMicros" ? "CPU us per call or message, less is better" : "calls/s, more is better";
      // Titles begin with the letter of the sub-protocol, and some explain their figures after a colon.
      const named = title.replace(/^A\b/, "HTTP RPC").replace(/^B\b/, "gRPC").replace(/:.*/, "");
      return [`${name}.svg`, plotOf({ title: named, unit, rows, notes })];
    }),
  );
}

/** Rounds to three significant digits. */
export function rounded(value: number): number {
  return Number(value.toPrecision(3));
}
