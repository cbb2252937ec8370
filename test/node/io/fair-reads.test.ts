/** The order in which a process reads its HTTP/2 connections: one connection cannot keep the others from being read. */
import { once } from "node:events";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { isTurnOver, takeTurn } from "../../../runtime/src/call/turn.ts";
import { ConnectionSocket } from "../../../runtime/src/connection/socket.ts";
import type { EngineConnection } from "../../../runtime/src/http2/connection.ts";

/** A socket whose bytes a test pushes, as the platform does after each read. */
class PushedSocket extends Duplex {
  override _read(): void {}
  override _write(_chunk: unknown, _encoding: unknown, done: () => void): void {
    done();
  }
  setNoDelay(): void {}
}

/** Stands for the end of input among the sizes. */
const END = -1;

/** Attaches a connection that needs time for each step, and returns its socket and the sizes of what it received. */
function attach(workMs: number, stepBytes = 65_536): { socket: PushedSocket; received: number[] } {
  const socket = new PushedSocket();
  const received: number[] = [];
  const connection: Partial<EngineConnection> = {
    receive(chunk: Uint8Array) {
      vi.advanceTimersByTime(workMs);
      const taken = Math.min(chunk.length, stepBytes);
      received.push(taken);
      return taken;
    },
    receiveEnd: () => void received.push(END),
    lost() {},
    take: () => ({ bytes: 0, parts: [], slabs: [] }),
    hasMore: false,
    isOver: false,
  };
  const owner = { onPeerEnd() {}, onFlushed: () => true, onClose() {} };
  new ConnectionSocket(socket as unknown as Socket).attach(connection as EngineConnection, owner);
  return { socket, received };
}

const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);

// The process may be stopped for longer than the time of a turn.
beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

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
    expect([busy.received.length, small.received.length, large.received.length]).toEqual([1, 2, 0]);
    while (busy.received.length + large.received.length < 4) await setImmediate();
  });

  it("gets the rest of a read in later turns, in which others are served before it", async () => {
    const [busy, other] = [attach(3, 16_384), attach(0)];
    await setImmediate();
    busy.socket.push(new Uint8Array(65_536));
    expect(busy.received).toEqual([16_384]);
    const before: number[] = [];
    while (sum(busy.received) < 65_536) {
      before.push(busy.received.length);
      other.socket.push(new Uint8Array(100));
      await setImmediate();
    }
    expect(other.received.length).toBe(before.length);
    // No turn had more than one step.
    expect(before).toEqual([...new Set(before)]);
    expect(busy.received).toHaveLength(4);
    while (busy.socket.isPaused()) await setImmediate();
  });

  it("gets the rest of a read that the end of the socket has overtaken", async () => {
    const { socket, received } = attach(3, 16_384);
    await setImmediate();
    socket.push(new Uint8Array(32_768));
    expect(received).toEqual([16_384]);
    socket.destroy();
    await once(socket, "close");
    expect(sum(received)).toBe(32_768);
  });

  it("gets the rest of a read before the end of the peer's side, which Node reports during a pause", async () => {
    const { socket, received } = attach(3, 16_384);
    await setImmediate();
    socket.push(new Uint8Array(32_768));
    socket.push(null);
    // As Node does at the end of a socket.
    socket.read(0);
    await once(socket, "end");
    expect(received).toEqual([16_384, 16_384, END]);
  });
});

it("small reads wait for a later turn, in their order, when messages have used this one up", async () => {
  const [one, two] = [attach(0), attach(0)];
  await setImmediate();
  while (!isTurnOver()) void takeTurn(1_024);
  const order: string[] = [];
  for (const [name, { socket, received }] of Object.entries({ one, two })) {
    socket.push(new Uint8Array(100));
    socket.on("resume", () => order.push(`${name} ${received.length}`));
    expect([received.length, socket.isPaused()]).toEqual([0, true]);
  }
  while (order.length < 2) await setImmediate();
  expect(order).toEqual(["one 1", "two 1"]);
});
