/** CPU profiles: the functions in which a process spends its time (option `--profile`). */
import type { Profiler, Runtime } from "node:inspector";
import { Session } from "node:inspector/promises";
import { basename } from "node:path";

/** A function, and the time in it, without the functions that it calls. */
export interface SelfTime {
  /** The name, and the file and line where it is declared. */
  readonly name: string;
  readonly micros: number;
}

/** Waiting, and the inspector's own function. */
const IGNORED = new Set(["(idle)", "dispatch"]);

let session: Session | undefined;

/** Begins a profile of this process. */
export async function startProfile(): Promise<void> {
  session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.start");
}

/** Ends the profile. Returns all functions with samples. */
export async function stopProfile(): Promise<SelfTime[]> {
  if (session === undefined) throw new Error("no profile has been started");
  const { profile } = await session.post("Profiler.stop");
  session.disconnect();
  session = undefined;
  return selfTimes(profile);
}

function selfTimes({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): SelfTime[] {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const micros = new Map<string, number>();
  for (const [index, id] of samples.entries()) {
    const name = names.get(id);
    if (name === undefined || IGNORED.has(name)) continue;
    micros.set(name, (micros.get(name) ?? 0) + (timeDeltas[index] ?? 0));
  }
  return Array.from(micros, ([name, time]) => ({ name, micros: time }));
}

/** The name of a function. Built-in functions and functions of V8 have no file. */
function nameOf({ functionName, url, lineNumber }: Runtime.CallFrame): string {
  const name = functionName || "(anonymous)";
  return url === "" ? name : `${name} ${basename(url)}:${lineNumber + 1}`;
}

/** Returns the functions with the most time in several profiles, and the share of each in percent. */
export function topTen(
  profiles: readonly (readonly SelfTime[])[],
): { readonly name: string; readonly percent: number }[] {
  const micros = new Map<string, number>();
  for (const { name, micros: time } of profiles.flat()) micros.set(name, (micros.get(name) ?? 0) + time);
  const total = [...micros.values()].reduce((sum, time) => sum + time, 0);
  return [...micros]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 10)
    .map(([name, time]) => ({ name, percent: (100 * time) / total }));
}
