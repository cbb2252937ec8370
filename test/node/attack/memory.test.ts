/**
 * Attacks on the memory of a server: responses that are not read, requests that never end, and pipelines (slow read,
 * Slowloris). The process never holds more than its budget for them, and a well-behaved client's calls go on. Live memory is
 * compared, which does not depend on when V8 collects garbage, and resident memory once the garbage has been collected.
 */
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import { Flag, frame, RawConnection, request, settings, Type, words } from "../../support/frames.ts";
import { pause } from "../../support/pause.ts";
import { openSocket, secure } from "../../support/server.ts";
import { behave, startVictim } from "./victim-process.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
/** The option `maxBufferedBytes`, a quarter of its default: the attacks that exceed it send and receive less. */
const BUDGET_BYTES = 64 * MIB;
/** Memory in addition to the budget: connections, decoded messages, and calls of the well-behaved client. */
const HEADROOM_BYTES = 64 * MIB;
const INITIAL_WINDOW_SIZE = 4;
const ODD = (index: number): number => 2 * index + 1;

describe.each([
  ["cleartext", false],
  ["TLS", true],
])("over %s, the memory of a server stays within its budget when", (_, overTls) => {
  type Attack = [name: string, run: (port: number) => Promise<unknown>];
  /** Those in which the TLS socket holds bytes: what was not read, and what arrives. */
  const attacks: Attack[] = [
    ["20 HTTP/2 connections with open windows ask for 100 answers of 256 KiB each and read nothing", unreadSockets],
    ["200 HTTP/1.1 connections ask for 2 MiB each and read nothing", unreadAnswers],
    ["100 uploads of 2 MiB stop at their last byte over HTTP/2", (port) => heldStreams(port, "Greet")],
  ];
  /** Those in which the bytes are held above the socket, whatever it is. */
  const attacksAbove: Attack[] = [
    ["20 HTTP/2 connections with windows of zero ask for 60 answers of 256 KiB each", windowsOfZero],
    ["10 HTTP/2 connections read all but the last byte of 60 answers of 512 KiB each", almostReadAnswers],
    ["20,000 requests for 64 KiB are pipelined and nothing is read", unreadPipeline],
    ["100 streams stop at the last byte of a message of 2 MiB", (port) => heldStreams(port, "GreetTogether")],
    ["100 uploads of 2 MiB stop at their last byte over HTTP/1.1", heldRequests],
    ["60 uploads of 100,000 chunks of one byte do not end", heldChunks],
  ];

  it.skipIf(overTls && !hasOpenssl).each(overTls ? attacks : [...attacks, ...attacksAbove])("%s", async (_, run) => {
    const tls = overTls ? sharedCertificates().server : undefined;
    const victim = await startVictim({ tls, limits: {}, maxBufferedBytes: BUDGET_BYTES, watchMemory: true });
    const before = await victim.health();
    const wellBehaved = behave(victim.port, overTls);
    await run(victim.port);
    await pause(1_500);
    await wellBehaved.end();
    const after = await victim.health();
    expect(after.peakLiveBytes).toBeLessThan(before.liveBytes + BUDGET_BYTES + HEADROOM_BYTES);
    expect(after.residentBytes).toBeLessThan(before.residentBytes + BUDGET_BYTES + HEADROOM_BYTES);
    expect(after.uncaught).toEqual([]);
  });

  async function windowsOfZero(port: number): Promise<void> {
    for (let i = 0; i < 20; i++) {
      const connection = await RawConnection.open(port, settings([INITIAL_WINDOW_SIZE, 0]), overTls);
      const call = (id: number): Buffer =>
        Buffer.concat([frame(Type.headers, Flag.endHeaders, id, request()), message(id, named(`big ${256 * KIB}`))]);
      for (let k = 0; k < 60; k++) connection.write(call(ODD(k)));
    }
  }

  async function unreadSockets(port: number): Promise<void> {
    for (let i = 0; i < 20; i++) {
      const connection = await RawConnection.open(port, settings([INITIAL_WINDOW_SIZE, 0x7fffffff]), overTls);
      connection.socket.pause();
      connection.write(frame(Type.windowUpdate, 0, 0, words(0x7fff0000)));
      for (let k = 0; k < 100; k++) {
        const id = ODD(k);
        connection.write(frame(Type.headers, Flag.endHeaders, id, request()), message(id, named(`big ${256 * KIB}`)));
      }
    }
  }

  async function almostReadAnswers(port: number): Promise<void> {
    for (let i = 0; i < 10; i++) {
      const connection = await RawConnection.open(port, settings([INITIAL_WINDOW_SIZE, 512 * KIB]), overTls);
      connection.socket.removeAllListeners("data").resume();
      connection.write(frame(Type.windowUpdate, 0, 0, words(0x7fff0000)));
      for (let k = 0; k < 60; k++) {
        const id = ODD(k);
        connection.write(frame(Type.headers, Flag.endHeaders, id, request()), message(id, named(`big ${512 * KIB}`)));
      }
    }
  }

  async function unreadAnswers(port: number): Promise<void> {
    for (let i = 0; i < 200; i++) (await connect(port)).write(post(`{"name":"big ${2 * MIB}"}`));
  }

  async function unreadPipeline(port: number): Promise<void> {
    const socket = await connect(port);
    const some = post(`{"name":"big ${64 * KIB}"}`).repeat(1_000);
    for (let i = 0; i < 20; i++) socket.write(some);
  }

  async function heldStreams(port: number, method: string): Promise<void> {
    const chunk = frame(Type.data, 0, 1, Buffer.alloc(16 * KIB, "x"));
    await Promise.all(
      Array.from({ length: 100 }, async () => {
        const connection = await RawConnection.open(port, settings(), overTls);
        await connection.frame(Type.windowUpdate, 0);
        const head = Buffer.from([0, 0, 0, 0, 0, 0x0a, 0, 0, 0, 0]);
        head.writeUInt32BE(2 * MIB, 1);
        // A field of the given size, as a varint of protobuf.
        const length = 2 * MIB - 5;
        for (let k = 0; k < 4; k++) head[6 + k] = ((length >> (7 * k)) & 0x7f) | (k < 3 ? 0x80 : 0);
        connection.write(frame(Type.headers, Flag.endHeaders, 1, request(method)), frame(Type.data, 0, 1, head));
        for (let sent = 0; sent < 127; ) {
          const fitting = Math.min(127, Math.floor((opened(connection, 1) - head.byteLength) / (16 * KIB)));
          if (connection.closed || hasAnswer(connection, 1)) return;
          connection.write(...Array<Buffer>(fitting - sent).fill(chunk));
          sent = fitting;
          await pause(5);
        }
      }),
    );
  }

  async function heldRequests(port: number): Promise<void> {
    const text = post(`{"name":"${"x".repeat(2 * MIB - 100)}"}`).slice(0, -1);
    for (let i = 0; i < 100; i++) (await connect(port)).write(text);
  }

  async function heldChunks(port: number): Promise<void> {
    const head = post("").replace("content-length: 0", "transfer-encoding: chunked");
    const chunks = "1\r\nx\r\n".repeat(100_000);
    for (let i = 0; i < 60; i++) (await connect(port)).write(head + chunks);
  }

  /** A connection over HTTP/1.1 on which nothing is read. */
  async function connect(port: number): Promise<Socket> {
    const tcp = await openSocket(port);
    if (!overTls) return tcp.pause();
    return (await secure(tcp, { ALPNProtocols: ["http/1.1"], rejectUnauthorized: false })).pause();
  }
});

/** A message of gRPC with one short string field, as the last frame of its stream. */
function message(stream: number, content: Buffer): Buffer {
  return frame(Type.data, Flag.endStream, stream, content);
}

function named(name: string): Buffer {
  const text = Buffer.from(name);
  return Buffer.concat([Buffer.from([0, 0, 0, 0, text.byteLength + 2, 0x0a, text.byteLength]), text]);
}

/** The bytes that the server has let a stream send so far, of the default `streamWindowBytes` on. */
function opened(connection: RawConnection, id: number): number {
  return connection.received.reduce(
    (sum, one) => (one.type === Type.windowUpdate && one.stream === id ? sum + one.payload.readUInt32BE(0) : sum),
    256 * KIB,
  );
}

/** True if the server has sent more than windows on a stream. */
function hasAnswer(connection: RawConnection, id: number): boolean {
  return connection.received.some(({ type, stream }) => stream === id && type !== Type.windowUpdate);
}

function post(body: string): string {
  const head = "POST /greet.v1.GreetService/Greet HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n";
  return `${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
