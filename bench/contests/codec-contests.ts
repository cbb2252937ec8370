/** Runs all codecs in turn, each in one process for all rounds. */
import { Child } from "../child.ts";
import { installPeers } from "../generate/plugins.ts";
import type { Machine } from "../machine.ts";
import type { Contest, Contests } from "./contest.ts";
import type { Tally } from "./load/load.ts";
import { type Measurement, measure, type Visits } from "./measurement.ts";

/** Starts every codec, and warms it up with each message. */
export async function openCodecContests(
  contests: readonly Contest[],
  { seconds, profiled }: Visits,
  { pinned }: Machine,
): Promise<Contests> {
  const codecs = new Map<string, Child>();
  if (contests.some(({ entrants }) => entrants.includes("protobufjs"))) installPeers();
  for (const contest of contests) {
    for (const entrant of contest.entrants) {
      if (!codecs.has(entrant)) {
        codecs.set(entrant, await Child.start(new URL(`codecs/${entrant}.ts`, import.meta.url), pinned?.subject));
      }
      await visit(codecs.get(entrant) as Child, contest, seconds, false);
    }
  }

  function visit(
    codec: Child,
    { load: { method, part } }: Contest,
    duration: number,
    isProfiled: boolean,
  ): Promise<Measurement> {
    return measure(codec, undefined, () => codec.ask<Tally>("run", { method, part, seconds: duration }), isProfiled);
  }

  return {
    async round(record) {
      for (const contest of contests) {
        for (const entrant of contest.entrants) {
          const codec = codecs.get(entrant);
          if (codec !== undefined) record(contest, entrant, await visit(codec, contest, seconds, entrant === profiled));
        }
      }
    },

    async stop() {
      await Promise.all([...codecs.values()].map((codec) => codec.stop()));
    },
  };
}
