/** All clients in turn, in every round in a fresh process, against one server that stays. */
import { Child } from "./child.ts";
import type { Contest, Contests } from "./contest.ts";
import type { Tally } from "./load/load.ts";
import type { Machine } from "./machine.ts";
import { measure, type Recorder } from "./measurement.ts";

/** Starts the server that all clients call: the cheapest one there is without us. */
export async function openClientContests(
  contests: readonly Contest[],
  seconds: number,
  { pinned }: Machine,
): Promise<Contests> {
  const server = await Child.start(new URL("servers/http2-bytes.ts", import.meta.url), pinned?.other);

  async function visit(entrant: string, entered: readonly Contest[], record: Recorder): Promise<void> {
    const client = await Child.start(new URL(`clients/${entrant}.ts`, import.meta.url), pinned?.subject);
    const run = ({ load }: Contest, duration: number) =>
      client.ask<Tally>("run", { method: load.method, inFlight: load.inFlight, seconds: duration });
    await client.ask("open", await server.ask("port"));
    for (const [index, contest] of entered.entries()) {
      // Another method is other code to warm up.
      if (entered[index - 1]?.load.method !== contest.load.method) await run(contest, 2 * seconds);
      record(contest, entrant, await measure(client, server, () => run(contest, seconds)));
    }
    await client.stop();
  }

  return {
    async round(record) {
      for (const entrant of new Set(contests.flatMap(({ entrants }) => entrants))) {
        const entered = contests.filter(({ entrants }) => entrants.includes(entrant));
        await visit(entrant, entered, record);
      }
    },

    async stop() {
      await server.stop();
    },
  };
}
