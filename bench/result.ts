/**
 * The result of a contest: the measurements of every entrant, and ours relative to those of each peer.
 */
import { type Contest, ours } from "./contest.ts";
import { type Measurement, ratio, type Spread } from "./measurement.ts";

export interface Result {
  readonly contest: Contest;
  /** By entrant, in the order of the rounds. */
  readonly rounds: ReadonlyMap<string, readonly Measurement[]>;
}

/** Ours as a multiple of a peer. */
export interface Comparison {
  readonly peer: string;
  readonly cpu: Spread;
  readonly messagesPerSecond: Spread;
  readonly goal: number | undefined;
}

export function compare({ contest, rounds }: Result): Comparison[] {
  const own = rounds.get(ours);
  if (own === undefined) return [];
  return [...rounds]
    .filter(([entrant]) => entrant !== ours)
    .map(([peer, measurements]) => ({
      peer,
      cpu: ratio("cpuMicros", own, measurements),
      messagesPerSecond: ratio("messagesPerSecond", own, measurements),
      goal: contest.goals[peer],
    }));
}
