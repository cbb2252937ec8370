/**
 * The memory of a server under unread responses: resident memory at its peak beside the budget, and the longest
 * block of the event loop. Each attack has a separate server with default options.
 *
 *     npm run bench:attack -- memory [--seconds 5]
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createConnection, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Health, Orders } from "../../test/node/attack/victim.ts";
import { Flag, frame, request, settings, Type, words } from "../../test/support/frames.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
/** The default of the option `maxBufferedBytes`. */
const BUDGET = 256 * MIB;
const ALLOWED = BUDGET + 64 * MIB;
const INITIAL_WINDOW_SIZE = 4;
const OPEN_WINDOW = 0x7fffffff;
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const { values } = parseArgs({ options: { seconds: { type: "string", default: "5" } } });

const ATTACKS: Readonly<Record<string, (port: number) => Promise<void>>> = {
  "20 HTTP/2 connections, windows of 0, 60 answers of 1 MiB each": windowsOfZero,
  "50 HTTP/2 connections, windows of 0, 100 endless streams of 10-byte messages each": (port) => streams(port, 10, 0),
  "the same, open windows and nothing read": (port) => streams(port, 10, OPEN_WINDOW),
  "the same with messages of 1 kB": (port) => streams(port, 1_000, OPEN_WINDOW),
  "the same with messages of 30 kB": (port) => streams(port, 30_000, OPEN_WINDOW),
  "the same with messages of 1 MB": (port) => streams(port, 1_000_000, OPEN_WINDOW),
  "200 HTTP/1.1 connections, 3 MiB each, nothing read": unreadAnswers,
  "20,000 pipelined requests for 256 KiB, nothing read": unreadPipeline,
};

async function windowsOfZero(port: number): Promise<void> {
  const text = Buffer.from([0, 0, 0, 0, 5, 0x0a, 3, ...Buffer.from("big")]);
  for (let i = 0; i < 20; i++) {
    const socket = await connect(port);
    socket.resume().write(Buffer.concat([Buffer.from(PREFACE), settings([INITIAL_WINDOW_SIZE, 0])]));
    for (let id = 1; id < 120; id += 2) {
      socket.write(frame(Type.headers, Flag.endHeaders, id, request()));
      socket.write(frame(Type.data, Flag.endStream, id, text));
    }
  }
}

/** Requests endless streams. With a window of 0 all frames are read, otherwise none. */
async function streams(port: number, messageBytes: number, windowBytes: number): Promise<void> {
  const name = Buffer.from(`endless ${messageBytes}`);
  const message = Buffer.from([0, 0, 0, 0, name.length + 2, 0x0a, name.length, ...name]);
  for (let i = 0; i < 50; i++) {
    const socket = await connect(port);
    if (windowBytes === 0) socket.resume();
    socket.write(Buffer.concat([Buffer.from(PREFACE), settings([INITIAL_WINDOW_SIZE, windowBytes])]));
    if (windowBytes > 0) socket.write(frame(Type.windowUpdate, 0, 0, words(0x7fff0000)));
    for (let id = 1; id < 200; id += 2) {
      socket.write(frame(Type.headers, Flag.endHeaders, id, request("GreetEach")));
      socket.write(frame(Type.data, Flag.endStream, id, message));
    }
  }
}

async function unreadAnswers(port: number): Promise<void> {
  for (let i = 0; i < 200; i++) (await connect(port)).write(post(3 * MIB));
}

async function unreadPipeline(port: number): Promise<void> {
  const socket = await connect(port);
  for (let i = 0; i < 20; i++) socket.write(post(256 * KIB).repeat(1_000));
}

/** Opens a connection on which nothing is read. */
async function connect(port: number): Promise<Socket> {
  const socket = createConnection({ port, host: "127.0.0.1" });
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket.pause();
}

function post(bytes: number): string {
  const body = `{"name":"big ${bytes}"}`;
  const head = "POST /greet.v1.GreetService/Greet HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n";
  return `${head}content-length: ${body.length}\r\n\r\n${body}`;
}

/** The peak of the resident memory of a process, in bytes, as the system counts it. */
function peakOf(pid: number): number {
  return Number(/VmHWM:\s*(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]) * KIB;
}

const inMib = (bytes: number): string => `${(bytes / MIB).toFixed(0)} MiB`;

for (const [name, attack] of Object.entries(ATTACKS)) {
  const victim = fork(fileURLToPath(new URL("../../test/node/attack/victim.ts", import.meta.url)), {
    execArgv: ["--conditions=triple-source", "--import", "tsx"],
  });
  victim.send({ limits: {} } satisfies Orders);
  const [port] = (await once(victim, "message")) as [number];
  const health = async (): Promise<Health> => {
    victim.send("how are you?");
    return ((await once(victim, "message")) as [Health])[0];
  };
  const before = await health();
  await attack(port);
  await sleep(1_000 * Number(values.seconds));
  const after = await health();
  const peak = peakOf(victim.pid ?? 0);
  const grown = peak - before.residentBytes;
  console.log(
    `${name}\n  RSS ${inMib(before.residentBytes)} before, ${inMib(peak)} at its peak (+${inMib(grown)}), ${inMib(after.residentBytes)} after; ` +
      `allowed +${inMib(ALLOWED)} (budget ${inMib(BUDGET)}): ${grown < ALLOWED ? "holds" : "EXCEEDED"}; ` +
      `longest block ${after.longestBlockMs.toFixed(0)} ms`,
  );
  victim.disconnect();
  await once(victim, "exit");
}
process.exit();
