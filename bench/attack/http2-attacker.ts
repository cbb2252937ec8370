/**
 * The process that attacks with frames: a client of the server that is attacked, and a server for the client that is.
 */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { answerParent } from "../child.ts";
import { frame, frameType } from "../contests/load/http2-frames.ts";
import { CLIENT_ATTACKS, type Http2Attack, SERVER_ATTACKS } from "./http2-attacks.ts";

export interface Orders {
  /** The port of the server that is attacked. Without one, this process is the server. */
  readonly port?: number | undefined;
  readonly attack: number;
  readonly connections: number;
}

const BATCH = 500;
const HEADER_BYTES = 9;
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

let stopped = true;
let opened = 0;
const sockets = new Set<Socket>();

function start({ port, attack, connections }: Orders): void {
  stopped = false;
  opened = 0;
  if (port === undefined) serving = CLIENT_ATTACKS[attack];
  else for (let i = 0; i < connections; i++) attackServer(port, SERVER_ATTACKS[attack] as Http2Attack);
}

function stop(): number {
  stopped = true;
  serving = undefined;
  for (const socket of sockets) socket.destroy();
  return opened;
}

/** Attacks over one connection at a time, and replaces it when the server closes it. */
function attackServer(port: number, attack: Http2Attack): void {
  if (stopped) return;
  const socket = connect(port, "127.0.0.1");
  track(socket);
  socket.on("close", () => attackServer(port, attack));
  socket.on("connect", () => {
    socket.write(PREFACE);
    greet(socket, attack);
    if (attack.begin !== undefined) socket.write(attack.begin(1));
    flood(socket, attack, 1);
  });
}

function greet(socket: Socket, { settings, readsNothing }: Http2Attack): void {
  socket.write(frame(frameType.settings, 0, 0, settings ?? Buffer.alloc(0)));
  socket.write(frame(frameType.settings, 1, 0, Buffer.alloc(0)));
  if (readsNothing) socket.pause();
  else socket.resume();
}

/** Repeats the frames of an attack at the speed of the peer. */
function flood(socket: Socket, { repeat }: Http2Attack, stream: number): void {
  if (repeat === undefined) return;
  let index = 0;
  const next = (): void => {
    if (socket.destroyed) return;
    const batch = Array.from({ length: BATCH }, () => repeat(index++, stream));
    if (socket.write(Buffer.concat(batch))) setImmediate(next);
    else socket.once("drain", next);
  };
  next();
}

function track(socket: Socket): void {
  opened++;
  sockets.add(socket);
  socket.on("error", () => {});
  socket.on("close", () => sockets.delete(socket));
}

let serving: Http2Attack | undefined;

const server = createServer((socket) => {
  const attack = serving;
  if (attack === undefined) {
    socket.destroy();
    return;
  }
  track(socket);
  greet(socket, attack);
  let bytes = Buffer.alloc(0);
  let skipped = PREFACE.length;
  socket.on("data", (chunk) => {
    bytes = Buffer.concat([bytes, chunk]);
    const left = Math.min(skipped, bytes.length);
    skipped -= left;
    bytes = bytes.subarray(left);
    while (skipped === 0 && bytes.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + bytes.readUIntBE(0, 3);
      if (bytes.length < end) break;
      const [type, stream] = [bytes[3], bytes.readUInt32BE(5)];
      bytes = bytes.subarray(end);
      if (type !== frameType.headers) continue;
      if (attack.begin !== undefined) socket.write(attack.begin(stream));
      flood(socket, attack, stream);
    }
  });
}).listen(0, "127.0.0.1");

answerParent({ start, stop, port: () => (server.address() as AddressInfo).port });
