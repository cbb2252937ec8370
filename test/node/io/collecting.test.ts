/** The count of bytes of bodies that are collected as a whole. */
import { expect, it } from "vitest";
import { Collecting } from "../../../runtime/src/connection/collecting.ts";
import { IncomingBody } from "../../../runtime/src/connection/incoming-body.ts";
import type { MemoryShare } from "../../../runtime/src/connection/memory-budget.ts";
import type { Stream } from "../../../runtime/src/http2/stream.ts";

it("a body that the memory budget refuses takes back only what it has added", async () => {
  let balance = 0;
  const collecting = new Collecting();
  const { add, end } = Collecting.prototype;
  collecting.add = (bytes) => {
    balance += bytes;
    add.call(collecting, bytes);
  };
  collecting.end = (body) => {
    balance -= body.unread;
    end.call(collecting, body);
  };
  let allowed = 1;
  const budget = { short: false, compact: false };
  const memory = { take: () => allowed-- > 0, release() {}, budget } as unknown as MemoryShare;
  const stream = { consumed() {}, store() {} } as unknown as Stream;
  const body = new IncomingBody(stream, [], collecting, () => {}, memory);
  const reading = body.bytes(1 << 20);
  body.push(new Uint8Array(1_000));
  body.push(new Uint8Array(16_384));
  await expect(reading).rejects.toThrow("unavailable");
  expect(balance).toBe(0);
});

it("sixteen large bodies of a connection have a larger window at a time, and small ones have not", () => {
  const collecting = new Collecting();
  const windows = new Map<number, number>();
  const begin = (id: number, bytes: number): IncomingBody => {
    const consumed: Stream["consumed"] = (_, window) => window !== undefined && windows.set(id, window);
    const body = new IncomingBody({ consumed } as Stream, [], collecting, () => {});
    body.bytes(1 << 20).catch(() => {});
    body.push(new Uint8Array(bytes));
    return body;
  };
  begin(0, 1_000);
  const bodies = Array.from({ length: 20 }, (_, i) => begin(i + 1, 128 * 1024));
  expect([...windows.keys()]).toEqual(Array.from({ length: 15 }, (_, i) => i + 1));
  expect(new Set(windows.values())).toEqual(new Set([1 << 20]));
  bodies[3]?.end();
  bodies[19]?.push(new Uint8Array(1));
  bodies[18]?.push(new Uint8Array(1));
  expect([...windows.keys()].slice(15)).toEqual([20]);
});
