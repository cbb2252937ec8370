/** The order in which a process reads its HTTP/2 connections: one connection cannot keep the others from being read. */
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { EngineConnection } from "../../runtime/src/http2/connection.ts";
import { Http2Socket } from "../../runtime/src/node/io/http2-socket.ts";

/** A socket whose bytes a test pushes, as the platform does after each read. */
class PushedSocket extends Duplex {
  override _read(): void {}
  override _write(_chunk: unknown, _encoding: unknown, done: () => void): void {
    done();
  }
  setNoDelay(): void {}
}

/** Attaches a connection that works for `workMs` on each chunk, and returns its socket and the sizes of the chunks received. */
function attach(workMs: number): { socket: PushedSocket; received: number[] } {
  const socket = new PushedSocket();
  const received: number[] = [];
  const connection: Partial<EngineConnection> = {
    receive(chunk: Uint8Array) {
      const end = performance.now() + workMs;
      while (performance.now() < end);
      received.push(chunk.length);
    },
    take: () => ({ bytes: 0, parts: [], slabs: [] }),
    hasMore: false,
    isOver: false,
  };
  const owner = { onPeerEnd() {}, onFlushed: () => true, onClose() {} };
  new Http2Socket(socket as unknown as Socket).attach(connection as EngineConnection, owner);
  return { socket, received };
}

describe("a connection whose input takes long", () => {
  it("is not read any further in a turn of the event loop, and is read again in the next one", async () => {
    const { socket, received } = attach(3);
    await setImmediate();
    for (let i = 0; i < 4; i++) socket.push(new Uint8Array(65_536));
    expect(received).toEqual([65_536]);
    expect(socket.isPaused()).toBe(true);
    while (received.length < 4) await setImmediate();
    while (socket.isPaused()) await setImmediate();
  });

  it("does not delay small chunks of others, and shares the time of a turn with their large ones", async () => {
    const [busy, small, large] = [attach(3), attach(0), attach(0)];
    await setImmediate();
    for (const { socket } of [busy, small, large]) {
      const bytes = socket === small.socket ? 100 : 65_536;
      for (let i = 0; i < 2; i++) socket.push(new Uint8Array(bytes));
    }
    expect([busy.received.length, small.received.length, large.received.length]).toEqual([1, 2, 1]);
    while (busy.received.length + large.received.length < 4) await setImmediate();
  });
});
