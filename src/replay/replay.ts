/** The command `triple-es replay`, which sends recorded calls to another build and compares the answers. */
import { once } from "node:events";
import { open } from "node:fs/promises";
import { connect } from "node:net";
import { resolve } from "node:path";
import type { Outcome } from "../contract/command.ts";
import type { ReplayArguments } from "./arguments.ts";
import { type Difference, differencesOf } from "./differences.ts";
import { obstacleOf, type RecordedCall, readLine } from "./recorded-call.ts";
import { type Answer, createSender, type Sender } from "./sender.ts";

/** A call whose answer differs. */
interface Differing {
  /** Its line in the file, from 1. */
  readonly line: number;
  readonly method: string;
  readonly differences: readonly Difference[];
}

interface Result {
  sent: number;
  /** The numbers of calls that were not sent, by the reason. */
  readonly skipped: Record<string, number>;
  readonly differing: Differing[];
}

/** Replays a file, whose path is relative to a folder. Rejects with an error of the system if it or the server is missing. */
export async function runReplay(args: ReplayArguments, folder: string): Promise<Outcome> {
  await reach(args.url);
  await using file = await open(resolve(folder, args.file));
  const lines = numbered(file.readLines());
  const result: Result = { sent: 0, skipped: {}, differing: [] };
  const sender = createSender(args);
  const work = async (): Promise<void> => {
    for await (const [line, text] of lines) await replay(line, text, args, sender, result);
  };
  try {
    await Promise.all(Array.from({ length: args.concurrency }, work));
  } finally {
    await sender.close();
  }
  result.differing.sort((a, b) => a.line - b.line);
  const stdout = args.json ? `${JSON.stringify(result)}\n` : report(result);
  const stderr = result.sent === 0 ? `triple-es: no call of ${args.file} was sent\n` : "";
  return { status: stderr === "" && result.differing.length === 0 ? 0 : 1, stdout, stderr };
}

async function replay(
  line: number,
  text: string,
  { only, ignore }: ReplayArguments,
  sender: Sender,
  result: Result,
): Promise<void> {
  const call = readLine(text);
  if (call === "end") return;
  if (call === undefined) return skip(result, "whose line is not a record");
  if (!isAsked(call, only)) return;
  const obstacle = obstacleOf(call);
  if (obstacle !== undefined) return skip(result, obstacle);
  result.sent += 1;
  const differences = compare(call, await sender.send(call), ignore);
  if (differences.length > 0) result.differing.push({ line, method: call.method, differences });
}

function skip({ skipped }: Result, reason: string): void {
  skipped[reason] = (skipped[reason] ?? 0) + 1;
}

function isAsked({ method }: RecordedCall, only: string | undefined): boolean {
  return only === undefined || method === `/${only}` || method.startsWith(`/${only}/`);
}

function compare(recorded: RecordedCall, replayed: Answer, ignore: readonly string[]): Difference[] {
  const status = ({ code, message, details }: Answer): object => ({ code, message, details });
  const isOne = recorded.kind === "unary" || recorded.kind === "client_streaming";
  const messages = ({ responses }: Answer): unknown => (isOne ? responses[0] : responses);
  return [
    ...differencesOf(status(recorded), status(replayed), []),
    // A failed unary call has no response, and one that fails in the replay alone is reported by its code.
    ...(recorded.code === replayed.code && (recorded.code === "ok" || !isOne)
      ? differencesOf(messages(recorded), messages(replayed), ignore)
      : []),
  ];
}

function report({ sent, skipped, differing }: Result): string {
  const lines = differing.flatMap(({ line, method, differences }) => [
    `${method}, line ${line}:`,
    ...differences.map(
      ({ path, recorded, replayed }) => `  ${path || "response"}: ${shown(recorded)} became ${shown(replayed)}`,
    ),
  ]);
  for (const [reason, count] of Object.entries(skipped)) lines.push(`skipped ${count} ${reason}`);
  return `${[...lines, `${sent} sent, ${differing.length} differ`].join("\n")}\n`;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/** Rejects if no connection can be opened: all calls would differ. */
async function reach(url: string): Promise<void> {
  const { hostname, port, protocol } = new URL(url);
  const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  const socket = connect({ host, port: Number(port) || (protocol === "https:" ? 443 : 80) });
  await once(socket, "connect").catch((error) => {
    // The error of a host with several addresses has an empty message.
    throw error instanceof AggregateError ? error.errors[0] : error;
  });
  socket.destroy();
}

/** Yields lines with their numbers. Several readers may share it. */
async function* numbered(lines: AsyncIterable<string>): AsyncGenerator<[number, string]> {
  let number = 0;
  for await (const line of lines) yield [++number, line];
}
