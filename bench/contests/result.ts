/** The result of a contest: the measurements of every entrant, and the ratios of triple-es to each peer. */
import { type Contest, ours } from "./contest.ts";
import { type Measurement, ratio, type Spread } from "./measurement.ts";

export interface Result {
  readonly contest: Contest;
  /** The measurements by entrant, in the order of the rounds. */
  readonly rounds: ReadonlyMap<string, readonly Measurement[]>;
}

/** triple-es as a multiple of a peer, or of itself in a contest with a smaller load. */
export interface Comparison {
  readonly peer: string;
  readonly cpu: Spread;
  readonly messagesPerSecond: Spread;
  readonly goal: number | undefined;
}

/** `all`: the results of all contests, including the one that a contest is compared with. */
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
