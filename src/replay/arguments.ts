/** The arguments of `triple-es replay`. */
import { parseArgs } from "node:util";
import { Metadata } from "../../runtime/src/call/metadata.ts";
import { isReservedName } from "../../runtime/src/protocol/headers.ts";
import { ArgumentsError } from "../contract/arguments.ts";

export interface ReplayArguments {
  readonly file: string;
  readonly url: string;
  /** A service, or a service and a method. `undefined`: all. */
  readonly only: string | undefined;
  /** Paths of fields that are not compared, without indices. */
  readonly ignore: readonly string[];
  /** Metadata that replaces that of the records. */
  readonly headers: Metadata;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly json: boolean;
}

export const REPLAY_HELP = `triple-es replay: sends recorded calls to another build, and lists the differences of its answers.

  triple-es replay calls.jsonl --url http://localhost:50051 --ignore order.updatedAt

Sends the calls of a file that recordCalls has written, to a server of triple-es with the same services: unary calls over the
protocol of their record, streams over gRPC, in JSON. Compares messages, code, text and types of details; masked values equal
all others. Skips calls that cannot be repeated: with masked or missing requests, that were cancelled or too late, and of Java
interfaces. Masked metadata, such as authorization, is not sent: --header replaces it. The exit status is
1 if an answer differs or no call was sent, 0 otherwise.

Flags:
  --url http://host:port     the server
  --only greet.v1.Greet/Hi   send calls of a service, or of a method, only
  --ignore a.b,c             fields of responses that are not compared, without indices; may be repeated
  --header "name: value"     metadata of all calls, in place of the recorded one; may be repeated
  --concurrency 1            calls at a time; with more than 1 the order changes
  --timeout 30               seconds after which a call fails
  --json                     print the result as JSON
  --help                     print this text
`;

/** Parses arguments. Returns `help` if they ask for help. Throws an `ArgumentsError` for invalid ones. */
export function readReplayArguments(args: readonly string[]): ReplayArguments | "help" {
  const options = {
    url: { type: "string" },
    only: { type: "string" },
    ignore: { type: "string", multiple: true },
    header: { type: "string", multiple: true },
    concurrency: { type: "string" },
    timeout: { type: "string" },
    json: { type: "boolean" },
    help: { type: "boolean", short: "h" },
  } as const;
  const { values, positionals } = parse(() => parseArgs({ args: [...args], options, allowPositionals: true }));
  if (values.help) return "help";
  const [file, more] = positionals;
  if (file === undefined || more !== undefined) throw new ArgumentsError("replay needs one file, such as calls.jsonl");
  if (values.url === undefined)
    throw new ArgumentsError("--url is missing: the server, such as http://localhost:50051");
  return {
    file,
    url: checkUrl(values.url),
    // Records have paths.
    only: values.only?.replace(/^\//, ""),
    ignore: (values.ignore ?? []).flatMap((paths) => paths.split(",")).filter((path) => path !== ""),
    headers: readHeaders(values.header ?? []),
    concurrency: readNumber("--concurrency", values.concurrency ?? "1", 1_000),
    timeoutMs: readNumber("--timeout", values.timeout ?? "30", 86_400) * 1_000,
    json: values.json ?? false,
  };
}

function checkUrl(url: string): string {
  if (URL.canParse(url) && ["http:", "https:"].includes(new URL(url).protocol)) return url;
  throw new ArgumentsError(`--url must be like http://localhost:50051, not ${url}`);
}

function readHeaders(lines: readonly string[]): Metadata {
  const headers = new Metadata();
  for (const line of lines) {
    const end = line.indexOf(":");
    if (end < 0) throw new ArgumentsError(`--header must be like "authorization: Bearer abc", not ${line}`);
    const name = line.slice(0, end).toLowerCase();
    if (isReservedName(name)) throw new ArgumentsError(`--header: ${name} is reserved for the protocol`);
    parse(() => headers.append(name, line.slice(end + 1).trim()));
  }
  return headers;
}

function readNumber(flag: string, text: string, maximum: number): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= maximum) return number;
  throw new ArgumentsError(`${flag} must be a whole number from 1 to ${maximum}, not ${text}`);
}

function parse<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new ArgumentsError((error as Error).message);
  }
}
