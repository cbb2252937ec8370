/** Connections in memory: their ends. */
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { MemorySocket } from "../../../runtime/src/node/io/duplex-pair.ts";
import { pause } from "../../support/pause.ts";

it("an end is read to its last byte after the other one has closed, because both directions have ended", async () => {
  const [near, far] = MemorySocket.pair();
  far.end();
  near.resume().end("the last bytes");
  await once(near, "close");
  expect(await text(far)).toBe("the last bytes");
  expect(far.destroyed).toBe(true);
});

it("an end that is destroyed earlier destroys the other one", async () => {
  const [near, far] = MemorySocket.pair();
  near.end("bytes");
  await once(near, "finish");
  near.destroy();
  await once(far, "close");
  expect(far.readableEnded).toBe(false);
});

it("bytes beyond the mark that wait to be read are unsent at their writer", async () => {
  const [near, far] = MemorySocket.pair(1);
  for (let i = 0; i < 8; i++) near.write(Buffer.alloc(1_000));
  await pause(20);
  expect(near.writableLength).toBe(8_000);
  far.resume();
  await expect.poll(() => near.writableLength).toBe(0);
});
