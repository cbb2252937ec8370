/** The demo's command line. */
import { parseArgs } from "node:util";

export interface Options {
  readonly help: boolean;
  readonly serve: boolean;
  readonly port: number;
}

/** The port of the guide's commands. */
const DEFAULT_PORT = 50051;

export const helpText = `Shows every kind of call with what goes over the wire, and checks every answer.

  npm run demo                                  run it all
  npm run demo -- --serve [--port ${DEFAULT_PORT}]        keep a server running, and print lines to try
  npm run demo -- --help                        print this
`;

/** Throws an error that says what is wrong with the command line. */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: { help: { type: "boolean", short: "h" }, serve: { type: "boolean" }, port: { type: "string" } },
  });
  const { help = false, serve = false, port = String(DEFAULT_PORT) } = values;
  if (!/^[0-9]+$/.test(port) || Number(port) > 65_535)
    throw new Error(`--port takes a number up to 65535, not ${port}`);
  if (values.port !== undefined && !serve) throw new Error("--port goes with --serve");
  return { help, serve, port: Number(port) };
}
