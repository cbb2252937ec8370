/** Runs all clients in turn, each in a new process in every round, against one server for all rounds. */
import { Child } from "../child.ts";
import type { Machine } from "../machine.ts";
import type { Contest, Contests } from "./contest.ts";
import type { Tally } from "./load/load.ts";
import { measure, type Recorder, type Visits } from "./measurement.ts";

/** Starts the servers of the clients. Most contests use the cheapest server that is not triple-es. */
export async function openClientContests(
  contests: readonly Contest[],
  { seconds, profiled }: Visits,
  { pinned }: Machine,
): Promise<Contests> {
  const servers = new Map<string, Child>();
  for (const contest of contests) {
    for (const name of contest.entrants.map((entrant) => serverOf(contest, entrant))) {
      if (servers.has(name)) continue;
      servers.set(name, await Child.start(new URL(`servers/${name}.ts`, import.meta.url), pinned?.other));
    }
  }

  async function visit(entrant: string, entered: readonly Contest[], record: Recorder): Promise<void> {
    const client = await Child.start(new URL(`clients/${entrant}.ts`, import.meta.url), pinned?.subject);
    const run = ({ load }: Contest, duration: number) =>
      client.ask<Tally>("run", { method: load.method, inFlight: load.inFlight, seconds: duration });
    let before: Contest | undefined;
    for (const contest of entered) {
      const name = serverOf(contest, entrant);
      const server = servers.get(name);
      if (server === undefined) continue;
      const isSameServer = before !== undefined && serverOf(before, entrant) === name;
      if (!isSameServer) {
        await client.ask("open", { port: await server.ask("port"), protocol: contest.load.protocol });
      }
      // A different method or server needs another warm-up.
      if (!isSameServer || before?.load.method !== contest.load.method) await run(contest, 2 * seconds);
      record(contest, entrant, await measure(client, server, () => run(contest, seconds), entrant === profiled));
      before = contest;
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
      await Promise.all([...servers.values()].map((server) => server.stop()));
    },
  };
}

function serverOf({ server = "http2-bytes" }: Contest, entrant: string): string {
  return server === "same" ? entrant : server;
}
