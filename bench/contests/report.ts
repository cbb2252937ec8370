/** Prints the results: a table for each contest, followed by the ratios of triple-es to its peers. */

import type { Machine } from "../machine.ts";
import { topTen } from "../profile.ts";
import { ours } from "./contest.ts";
import { isStreaming } from "./load/load.ts";
import { type Figure, type Measurement, spread } from "./measurement.ts";
import { type Comparison, compare, type Result } from "./result.ts";

export function reportText(machine: Machine, results: readonly Result[]): string {
  return [machineText(machine), ...results.map((result) => resultText(result, results))].join("\n\n");
}

export function reportJson(machine: Machine, results: readonly Result[]): string {
  const contests = results.map((result) => ({
    name: result.contest.name,
    rounds: Object.fromEntries(result.rounds),
    comparisons: compare(result, results),
  }));
  return JSON.stringify({ machine, contests }, undefined, 2);
}

function machineText({ node, packages, processor, cores, pinned }: Machine): string {
  const versions = Object.entries(packages).map(([name, version]) => `${name} ${version}`);
  const pinning = pinned === undefined ? "not tied to CPUs" : `tied to CPUs ${pinned.subject} and ${pinned.other}`;
  return [`Node ${node}, ${versions.join(", ")}`, `${cores} x ${processor}, the two ends ${pinning}`].join("\n");
}

function resultText(result: Result, all: readonly Result[]): string {
  const { title, subject, load } = result.contest;
  const other = subject === "server" ? "load us" : "server us";
  const unit = isStreaming(load.method) ? "message" : "call";
  const head = [subject, `CPU us/${unit}`, "min - max", `${unit}s/s`, "p50 ms", "p99 ms", "busy", other];
  const rows = [...result.rounds].map(([entrant, measurements]) => entrantRow(entrant, measurements));
  const ratios = compare(result, all).map(comparisonRow);
  const ratioHead = ["ratio", "CPU", "min - max", `${unit}s/s`, "goal for CPU"];
  const tables = [[head, ...rows], ...(ratios.length > 0 ? [[ratioHead, ...ratios]] : [])];
  return [title, ...tables.map(table), ...profileText(result)].join("\n\n");
}

/** The functions of triple-es with the most CPU time, if it was profiled. */
function profileText({ rounds }: Result): string[] {
  const profiles = (rounds.get(ours) ?? []).flatMap(({ profile }) => (profile === undefined ? [] : [profile]));
  if (profiles.length === 0) return [];
  return [table([["self time", "%"], ...topTen(profiles).map(({ name, percent }) => [name, percent.toFixed(1)])])];
}

function entrantRow(entrant: string, measurements: readonly Measurement[]): string[] {
  const figure = (name: Figure) => spread(measurements.map((measurement) => measurement[name]));
  const cpu = figure("cpuMicros");
  return [
    entrant,
    number(cpu.median),
    `${number(cpu.min)} - ${number(cpu.max)}`,
    figure("messagesPerSecond").median.toFixed(0),
    number(figure("p50Ms").median),
    number(figure("p99Ms").median),
    `${(figure("busy").median * 100).toFixed(0)} %`,
    number(figure("otherCpuMicros").median),
  ];
}

function comparisonRow({ peer, cpu, messagesPerSecond, goal }: Comparison): string[] {
  return [
    `${ours} / ${peer}`,
    cpu.median.toFixed(2),
    `${cpu.min.toFixed(2)} - ${cpu.max.toFixed(2)}`,
    messagesPerSecond.median.toFixed(2),
    goal === undefined ? "" : `at most ${goal.toFixed(2)}: ${cpu.median <= goal ? "met" : "missed"}`,
  ];
}

/** Rounds to three significant digits. */
function number(value: number): string {
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}

/** Pads columns to their widest cell; the first column is aligned left, the others right. */
function table(rows: readonly (readonly string[])[]): string {
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const pad = (cell: string, column: number) => (column === 0 ? cell.padEnd(width(0)) : cell.padStart(width(column)));
  return rows.map((row) => row.map(pad).join("   ").trimEnd()).join("\n");
}
