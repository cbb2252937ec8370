/**
 * `npm run differential`: the same sequences of frames, valid and mutated, to our server and to those of `node:http2`, Go's
 * x/net/http2 and Python's h2. A sequence is a finding if ours takes it as none of the others does, unless the difference
 * is intended.
 *
 *     npm run differential -- 10000 7    # 10,000 sequences with the seed 7
 */
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import { FrameType } from "../../../runtime/src/http2/codes.ts";
import { MissingPeer, unlessMissing } from "../../interop/peer.ts";
import { installDebianPackages, outputOf } from "../../interop/program.ts";
import { CACHE, goVersion } from "../../support/go.ts";
import { ACK, type Frame, frame, PREFACE, parseFrames, settings } from "../support/frames.ts";
import { isAcknowledgement, isMalformed, PROBE, probe, sequence } from "./sequences.ts";

/** The outcome of a sequence on a server, for the connection and for the first stream. */
type Outcome = "served" | "stream error" | "open" | "connection error" | "silent";

interface Answer {
  readonly outcome: Outcome;
  /** True if the server has reset any stream. */
  readonly hasReset: boolean;
}

interface Peer {
  readonly name: string;
  /** The port of the process that runs now. */
  port: Promise<number>;
  /** The number of processes that have ended before their time: their memory is not safe from every sequence. */
  crashes: number;
  stop(): void;
}

const HERE = import.meta.dirname;
const NODE = [process.execPath, "--conditions=triple-source", "--import", "tsx"];
const X_NET = "v0.48.0";
/** Debian's Python, because its packages are available only there. */
const PYTHON = "/usr/bin/python3";
/**
 * Time without a frame after which a server may be silent, or may not answer the first stream. Others must be served
 * then.
 */
const SILENCE_MS = 1_000;
const SETTLED_MS = 20;
/** Tries of a sequence that all have to differ for a finding, and requests of others that are served meanwhile, by try. */
const ROUNDS: readonly number[] = [1, 5, 20];
const PARALLEL = 16;
/** Exit status of a judge that is not there. */
const CANNOT_RUN = 3;

/**
 * The intended differences. A stream error that no honest peer causes is a connection error, because resets that a client
 * provokes cost more than it pays (MadeYouReset, CVE-2025-8671). A malformed request is a stream error, as RFC 9113, section
 * 8.1.1, requires; others close the connection, answer 400 or ignore it. Frames after a GOAWAY of the client are handled as
 * before it, because section 6.8 restricts only its receiver; others close the connection. An acknowledgement of no SETTINGS
 * is counted and has no other effect, because section 6.5.3 defines no error for it.
 */
function isIntended(own: Outcome, others: readonly Answer[], frames: readonly Buffer[]): boolean {
  if (own === "connection error") return others.some(({ hasReset }) => hasReset);
  const hasLeft = frames.some((one) => one[3] === FrameType.GoAway);
  if (own === "stream error") return hasLeft || isMalformed(frames);
  return hasLeft || frames.some(isAcknowledgement);
}

const [total = 10_000, seed = Date.now() & 0x3fff_ffff] = process.argv.slice(2).map(Number);

async function start(
  name: string,
  command: readonly string[],
  portOf: (line: string) => number = Number,
): Promise<Peer> {
  let child: ChildProcess;
  let isStopped = false;
  const run = async (): Promise<number> => {
    child = spawn(command[0] as string, command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
    const line = await new Promise<string>((resolve, reject) => {
      child.stdout?.once("data", (chunk) => resolve(String(chunk)));
      child.once("exit", () => reject(new Error(`${name} does not start`)));
    });
    child.once("exit", () => {
      if (isStopped) return;
      peer.crashes++;
      peer.port = run();
    });
    return portOf(line);
  };
  const stop = (): void => {
    isStopped = true;
    child.kill("SIGKILL");
  };
  const peer: Peer = { name, port: run(), crashes: 0, stop };
  await peer.port;
  return peer;
}

function startGo(): Promise<Peer> {
  if (goVersion() === undefined) throw new MissingPeer("there is no Go");
  const folder = join(CACHE, "differential", X_NET);
  const program = join(folder, "peer");
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true });
    cpSync(join(HERE, "peer.go"), join(folder, "main.go"));
    const go = (...args: string[]): void => {
      if (outputOf("go", "-C", folder, ...args) === undefined) throw new MissingPeer(`go ${args[0]} failed`);
    };
    if (!existsSync(join(folder, "go.mod"))) go("mod", "init", "peer");
    go("get", `golang.org/x/net/http2@${X_NET}`);
    go("build", "-o", program, ".");
  }
  return start("x/net", [program]);
}

function startPython(): Promise<Peer> {
  installDebianPackages("python3-h2");
  if (outputOf(PYTHON, "-c", "import h2") === undefined) throw new MissingPeer(`${PYTHON} has no h2 (python3-h2)`);
  return start("h2", [PYTHON, join(HERE, "peer.py")]);
}

/** Sends frames to a server on a new connection. Returns the socket. */
function converse(port: number, frames: readonly Buffer[], onFrame: (frame: Frame) => void): Socket {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let bytes = Buffer.alloc(0);
  socket.on("error", () => {});
  socket.on("data", (chunk) => {
    bytes = Buffer.concat([bytes, chunk]);
    let at = 0;
    while (bytes.length - at >= 9 && bytes.length - at >= 9 + bytes.readUIntBE(at, 3)) {
      const length = 9 + bytes.readUIntBE(at, 3);
      for (const one of parseFrames(bytes.subarray(at, at + length))) {
        const isGreeting = one.type === FrameType.Settings && (one.flags & ACK) === 0;
        if (isGreeting) socket.write(frame(FrameType.Settings, ACK, 0, []));
        onFrame(one);
      }
      at += length;
    }
    bytes = bytes.subarray(at);
  });
  socket.write(Buffer.concat([PREFACE, settings(), ...frames]));
  return socket;
}

/** Makes a valid request on a new connection, and waits for its response, however long a busy machine takes for it. */
async function serveAnother(peer: Peer): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = await peer.port;
    const isServed = await new Promise<boolean>((resolve) => {
      const socket = converse(port, [probe], ({ type, streamId }) => {
        if (streamId === PROBE && type === FrameType.Headers) resolve(true);
        if (streamId === PROBE) socket.destroy();
      });
      socket.on("close", () => resolve(false));
    });
    if (isServed) return;
    // The process may have crashed.
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`${peer.name} does not serve a valid request`);
}

/**
 * Sends a sequence and a request after it, and returns how the server reacted. A server that does not react has decided so
 * if it has served the given number of requests of other connections meanwhile: time alone proves nothing on a busy machine.
 */
async function ask(peer: Peer, frames: readonly Buffer[], rounds: number, tries = 3): Promise<Answer> {
  const port = await peer.port;
  const { crashes } = peer;
  const answer = await new Promise<Answer>((resolve, reject) => {
    let first: Outcome = "open";
    let hasReset = false;
    let isProbeAnswered = false;
    let received = 0;
    let isOver = false;
    const end = (outcome: Outcome): void => {
      isOver = true;
      clearTimeout(timer);
      socket.destroy();
      resolve({ outcome, hasReset });
    };
    const settle = async (): Promise<void> => {
      const before = received;
      for (let round = 0; round < rounds; round++) await serveAnother(peer);
      if (isOver) return;
      if (received === before) end(isProbeAnswered ? first : "silent");
      else wait();
    };
    const wait = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => settle().catch(reject), isProbeAnswered ? SETTLED_MS : SILENCE_MS);
    };
    let timer: NodeJS.Timeout | undefined;
    const socket = converse(port, [...frames, probe], ({ type, streamId, payload }) => {
      if (isOver) return;
      received++;
      if (type === FrameType.GoAway && Buffer.from(payload).readUInt32BE(4) !== 0) return end("connection error");
      if (type === FrameType.RstStream) hasReset = true;
      if (streamId === 1 && type === FrameType.Headers && first === "open") first = "served";
      if (streamId === 1 && type === FrameType.RstStream && first === "open") first = "stream error";
      if (streamId === PROBE && type !== FrameType.WindowUpdate) isProbeAnswered = true;
      // The responses of handlers that run concurrently come in any order.
      if (isProbeAnswered && first !== "open") end(first);
      else wait();
    });
    socket.on("close", () => {
      if (isOver) return;
      // The end of a connection says nothing if the process has crashed.
      serveAnother(peer).then(() => end("connection error"), reject);
    });
    wait();
  });
  return peer.crashes === crashes || tries === 1 ? answer : ask(peer, frames, rounds, tries - 1);
}

async function main(): Promise<number> {
  const skipped: string[] = [];
  const own = await start("ours", [...NODE, join(HERE, "../../h2spec/server.ts")], (line) => JSON.parse(line).h2c);
  const others = [await start("node:http2", [...NODE, join(HERE, "peer.ts")])];
  for (const [name, set] of [
    ["x/net", startGo],
    ["h2", startPython],
  ] as const) {
    const peer = await unlessMissing(name, skipped, set);
    if (peer !== undefined) others.push(peer);
  }
  const counts = new Map<string, number>();
  const findings: string[] = [];
  const sequences = fc.sample(sequence, { numRuns: total, seed });
  let next = 0;
  const judge = async (frames: readonly Buffer[], rounds: number): Promise<{ kind: string; isFinding: boolean }> => {
    const [{ outcome: ours }, theirs] = await Promise.all([
      ask(own, frames, rounds),
      Promise.all(others.map((peer) => ask(peer, frames, rounds))),
    ]);
    const outcomes = new Set(theirs.map(({ outcome }) => outcome));
    const isSame = outcomes.has(ours);
    const kind = isSame ? `like another: ${ours}` : `ours ${ours}, others ${[...outcomes].sort().join(" or ")}`;
    return { kind, isFinding: !isSame && !isIntended(ours, theirs, frames) };
  };
  const work = async (): Promise<void> => {
    while (next < sequences.length) {
      const frames = sequences[next++] as Buffer[];
      let { kind, isFinding } = await judge(frames, ROUNDS[0] as number);
      for (const rounds of ROUNDS.slice(1)) if (isFinding) ({ kind, isFinding } = await judge(frames, rounds));
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      if (isFinding) findings.push(`${kind}: ${frames.map((one) => one.toString("hex")).join(" ")}`);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  for (const peer of [own, ...others]) peer.stop();
  console.log(`${total} sequences with the seed ${seed} to ours, ${others.map(({ name }) => name).join(", ")}`);
  for (const [kind, count] of counts) console.log(`${String(count).padStart(8)}  ${kind}`);
  for (const finding of findings.slice(0, 30)) console.log(`FINDING ${finding}`);
  for (const { name, crashes } of [own, ...others]) if (crashes > 0) console.log(`${name} crashed ${crashes} times`);
  for (const line of skipped) console.log(line);
  console.log(`${total - findings.length} passed, ${findings.length} failed, ${skipped.length} peers skipped`);
  return findings.length > 0 || own.crashes > 0 ? 1 : others.length === 0 ? CANNOT_RUN : 0;
}

process.exitCode = await main();
