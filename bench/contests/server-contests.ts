/** Runs all servers at the same time, each in its own process, and puts them under load in turn. */
import { Child } from "../child.ts";
import type { Machine } from "../machine.ts";
import type { Contest, Contests } from "./contest.ts";
import type { Tally } from "./load/load.ts";
import { type Measurement, measure, type Visits } from "./measurement.ts";

/** Starts every server, and warms it up with its first load. */
export async function openServerContests(
  contests: readonly Contest[],
  { seconds, profiled }: Visits,
  { pinned }: Machine,
): Promise<Contests> {
  const load = await Child.start(new URL("load/main.ts", import.meta.url), pinned?.other);
  const servers = new Map<string, Child>();
  for (const contest of contests) {
    for (const entrant of contest.entrants) {
      const key = serverKey(contest, entrant);
      if (servers.has(key)) continue;
      const server = await Child.start(
        new URL(`servers/${entrant}.ts`, import.meta.url),
        pinned?.subject,
        contest.setup,
      );
      servers.set(key, server);
      await visit(server, contest, 2 * seconds, false);
    }
  }

  async function visit(server: Child, contest: Contest, duration: number, isProfiled: boolean): Promise<Measurement> {
    // Connections are opened before the measurement, because that costs CPU time too.
    await load.ask("open", { port: await server.ask("port"), load: contest.load });
    const measurement = await measure(server, load, () => load.ask<Tally>("run", duration), isProfiled);
    await load.ask("close");
    return measurement;
  }

  return {
    async round(record) {
      for (const contest of contests) {
        for (const entrant of contest.entrants) {
          const server = servers.get(serverKey(contest, entrant));
          if (server !== undefined)
            record(contest, entrant, await visit(server, contest, seconds, entrant === profiled));
        }
      }
    },

    async stop() {
      await Promise.all([load, ...servers.values()].map((child) => child.stop()));
    },
  };
}

/**
 * Contests of one setup, sub-protocol, codec and method share a process: a process that has run all contests would be
 * slower in each.
 */
function serverKey({ load, setup }: Contest, entrant: string): string {
  return `${load.protocol} ${load.http} ${load.codec} ${load.method} ${setup} ${entrant}`;
}
