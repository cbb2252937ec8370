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

/** Ours as a multiple of a peer, or of ours in a contest with a smaller load. */
export interface Comparison {
  readonly peer: string;
  readonly cpu: Spread;
  readonly messagesPerSecond: Spread;
  readonly goal: number | undefined;
}

/** `all`: the results of all contests, among them that from which a contest's growth is measured. */
export function compare({ contest, rounds }: Result, all: readonly Result[]): Comparison[] {
  const own = rounds.get(ours);
  if (own === undefined) return [];
  const comparison = (peer: string, measurements: readonly Measurement[], goal: number | undefined): Comparison => ({
    peer,
    cpu: ratio("cpuMicros", own, measurements),
    messagesPerSecond: ratio("messagesPerSecond", own, measurements),
    goal,
  });
  const comparisons = [...rounds]
    .filter(([entrant]) => entrant !== ours)
    .map(([peer, measurements]) => comparison(peer, measurements, contest.goals[peer]));
  const { growth } = contest;
  const smaller = all.find((result) => result.contest.name === growth?.from)?.rounds.get(ours);
  if (growth !== undefined && smaller !== undefined) comparisons.push(comparison(growth.from, smaller, growth.goal));
  return comparisons;
}
