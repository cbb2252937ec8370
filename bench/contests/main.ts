/** `npm run bench`: servers and clients side by side, visited in turn for several rounds. */

import { figuresOf, writeFigures } from "../figures.ts";
import { describeMachine } from "../machine.ts";
import { openClientContests } from "./client-contests.ts";
import { openCodecContests } from "./codec-contests.ts";
import { type Contest, ours, selectContests } from "./contest.ts";
import type { Measurement, Visits } from "./measurement.ts";
import { type Options, readOptions, usage } from "./options.ts";
import { reportJson, reportText } from "./report.ts";
import type { Result } from "./result.ts";
import { openServerContests } from "./server-contests.ts";

try {
  const options = readOptions(process.argv.slice(2));
  process.stdout.write(options.help ? usage : await bench(options));
} catch (error) {
  progress(error instanceof Error ? error.message : String(error));
  // Children that still run notice the end of their parent and exit.
  process.exit(1);
}

async function bench({ rounds, seconds, only, json, write, profile }: Options): Promise<string> {
  const machine = describeMachine();
  const contests = selectContests(only);
  const results = new Map<Contest, Map<string, Measurement[]>>(contests.map((contest) => [contest, new Map()]));
  const about = (subject: Contest["subject"]) => contests.filter((contest) => contest.subject === subject);

  const visits: Visits = { seconds, profiled: profile ? ours : undefined };

  progress("starting the servers and warming them up");
  const parts = [
    await openCodecContests(about("codec"), visits, machine),
    await openServerContests(about("server"), visits, machine),
    await openClientContests(about("client"), visits, machine),
  ];
  for (let round = 1; round <= rounds; round++) {
    for (const part of parts) {
      await part.round((contest, entrant, measurement) => {
        const measurements = results.get(contest);
        measurements?.set(entrant, [...(measurements.get(entrant) ?? []), measurement]);
        progress(`round ${round} of ${rounds}: ${contest.name} ${entrant} ${measurement.cpuMicros.toFixed(1)} us`);
      });
    }
  }
  await Promise.all(parts.map((part) => part.stop()));

  const listed = [...results].map(([contest, measurements]): Result => ({ contest, rounds: measurements }));
  if (write) writeFigures(figuresOf(process.argv.slice(2), machine, listed));
  return `${json ? reportJson(machine, listed) : reportText(machine, listed)}\n`;
}

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}
