/** Memory for output that the peer of an HTTP/2 connection does not read. */
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { ConnectionSocket } from "../../../runtime/src/connection/socket.ts";
import type { EngineConnection } from "../../../runtime/src/http2/connection.ts";
import { Output } from "../../../runtime/src/wire/output.ts";

/** A socket whose peer reads only when the test says so. */
class UnreadSocket extends Duplex {
  readonly written: Uint8Array[] = [];
  read_: () => void = () => {};
  override _read(): void {}
  override _write(chunk: Uint8Array, _encoding: unknown, done: () => void): void {
    this.written.push(chunk);
    this.read_ = done;
  }
  setNoDelay(): void {}
}

describe("a connection whose peer does not read", () => {
  it("collects small output in one slab, and sends it in one write when the peer reads", async () => {
    const socket = new UnreadSocket();
    const http2 = new ConnectionSocket(socket as unknown as Socket);
    let slabs = 0;
    const output = new Output({
      wake: () => http2.wake(),
      slab: () => {
        slabs++;
        return http2.slab();
      },
    });
    const connection: Partial<EngineConnection> = {
      take: () => output.take(),
      block() {},
      hasMore: false,
      isOver: false,
      get unsent() {
        return output.bytes;
      },
      get framed() {
        return output.bytes;
      },
    };
    http2.attach(connection as EngineConnection, { onPeerEnd() {}, onFlushed: () => true, onClose() {} });
    for (let i = 0; i < 100; i++) {
      output.payload(Buffer.from(`frame ${i};`));
      await setImmediate();
    }
    expect([socket.written.length, slabs]).toEqual([1, 2]);
    while (socket.writableLength > 0) {
      socket.read_();
      await setImmediate();
    }
    const text = Buffer.concat(socket.written).toString();
    expect(text).toBe(Array.from({ length: 100 }, (_, i) => `frame ${i};`).join(""));
    expect(socket.written.length).toBe(2);
  });
});
