/** One measurement of one entrant, and the summary of many. */
import type { Child } from "../child.ts";
import type { SelfTime } from "../profile.ts";
import type { Contest } from "./contest.ts";
import type { Tally } from "./load/load.ts";

export interface Measurement {
  /** CPU time of all threads of the measured process, per message. */
  readonly cpuMicros: number;
  /** CPU time of the process at the other end of the connections, per message. */
  readonly otherCpuMicros: number;
  /** The share of the time that the measured process was on a CPU. Far below 1, it was waiting for the other end. */
  readonly busy: number;
  readonly messagesPerSecond: number;
  /** Duration of a whole call. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The profile of the measured process, if it was asked for. */
  readonly profile?: readonly SelfTime[];
}

/** The name of a figure of a measurement. */
export type Figure = Exclude<keyof Measurement, "profile">;

/** The settings of all measurements of a run. */
export interface Visits {
  /** Duration of one measurement. Every process is warmed up for twice that time. */
  readonly seconds: number;
  /** The entrant whose process is profiled. */
  readonly profiled: string | undefined;
}

/** Receives every measurement. */
export type Recorder = (contest: Contest, entrant: string, measurement: Measurement) => void;

/** Measures the CPU time of both ends during a run of calls. A failed call ends the run with an error. */
export async function measure(
  subject: Child,
  other: Child | undefined,
  run: () => Promise<Tally>,
  isProfiled: boolean,
): Promise<Measurement> {
  if (isProfiled) await subject.ask("startProfile");
  const subjectBefore = await subject.cpuMicros();
  const otherBefore = (await other?.cpuMicros()) ?? 0;
  const { calls, messages, errors, seconds, p50Ms, p99Ms } = await run();
  const subjectMicros = (await subject.cpuMicros()) - subjectBefore;
  const otherMicros = ((await other?.cpuMicros()) ?? 0) - otherBefore;
  const profile = isProfiled ? await subject.ask<SelfTime[]>("stopProfile") : undefined;
  if (errors > 0 || calls === 0) throw new Error(`${subject.name}: ${errors} calls failed, ${calls} succeeded`);
  return {
    cpuMicros: subjectMicros / messages,
    otherCpuMicros: otherMicros / messages,
    busy: subjectMicros / (seconds * 1e6),
    messagesPerSecond: messages / seconds,
    p50Ms,
    p99Ms,
    ...(profile !== undefined && { profile }),
  };
}

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const at = (index: number) => sorted[index] ?? Number.NaN;
  return { median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2, min: at(0), max: at(sorted.length - 1) };
}

/**
 * Returns a figure of one entrant as a multiple of another's, round by round, because a disturbance of a round affects
 * both.
 */
export function ratio(figure: Figure, entrant: readonly Measurement[], peer: readonly Measurement[]): Spread {
  return spread(entrant.map((measurement, round) => measurement[figure] / (peer[round]?.[figure] ?? Number.NaN)));
}
