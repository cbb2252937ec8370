/** The command-line options. */
import { parseArgs } from "node:util";

export interface Options {
  readonly rounds: number;
  /** Duration of one measurement. Every process is warmed up for twice that time. */
  readonly seconds: number;
  readonly only: readonly string[];
  readonly json: boolean;
  /** Writes the figures and their plots. */
  readonly write: boolean;
  /** Profiles triple-es in each measurement. */
  readonly profile: boolean;
  readonly help: boolean;
}

export const usage = `usage: npm run bench -- [options]

  --rounds N     visits to every entrant (default 5)
  --seconds S    length of each visit in seconds (default 0.7)
  --only A,B     only these entrants or contests
  --quick        2 rounds of 0.3 seconds
  --profile      prints the ten functions of triple-es with the most CPU time after each table; profiling costs CPU time
  --json         prints every measurement as JSON instead of tables
  --write        also writes bench/figures.json, and a plot of each contest into bench/plots
  --help         prints this
`;

export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string" },
      seconds: { type: "string" },
      only: { type: "string" },
      quick: { type: "boolean", default: false },
      profile: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  return {
    rounds: Math.ceil(positive("rounds", values.rounds) ?? (values.quick ? 2 : 5)),
    seconds: positive("seconds", values.seconds) ?? (values.quick ? 0.3 : 0.7),
    only: values.only?.split(",") ?? [],
    json: values.json,
    write: values.write,
    profile: values.profile,
    help: values.help,
  };
}

function positive(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (!(Number(value) > 0)) throw new RangeError(`--${name} wants a positive number`);
  return Number(value);
}
