/** The encoding of ZooKeeper's records, and frames in any chunks. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { FrameSplitter, JuteReader, JuteWriter } from "../../../../dubbo/src/registry/zookeeper/jute.ts";
import { Watches } from "../../../../dubbo/src/registry/zookeeper/watches.ts";

const int = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const long = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const text = fc.string({ unit: "grapheme", maxLength: 300 });

it("a record is read as it was written, from frames in any chunks", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(int, long, text, fc.array(text), fc.uint8Array({ maxLength: 600 })), { maxLength: 5 }),
      fc.array(fc.nat(40)),
      (records, cuts) => {
        const frames = records.map(([a, b, c, d, e]) =>
          new JuteWriter().int(a).long(b).bool(true).string(c).strings(d).bytes(e).frame(),
        );
        const bytes = Buffer.concat(frames);
        const splitter = new FrameSplitter(1_000_000);
        const bodies: Uint8Array[] = [];
        let offset = 0;
        for (const cut of [...cuts, bytes.byteLength]) {
          bodies.push(...splitter.push(bytes.subarray(offset, offset + cut)));
          offset += cut;
        }
        const read = bodies.map((body) => {
          const reader = new JuteReader(body);
          const [a, b, flag] = [reader.int(), reader.long(), reader.remaining > 0 && body[12] === 1];
          expect(flag).toBe(true);
          const rest = new JuteReader(body.subarray(13));
          return [a, b, rest.string(), rest.strings(), new Uint8Array(rest.bytes())];
        });
        expect(read).toEqual(records);
      },
    ),
  );
});

it("a body of a peer is read or refused with a RangeError, and never asks for more memory than it has", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (body) => {
      for (const read of [
        (one: JuteReader) => one.string(),
        (one: JuteReader) => one.strings(),
        (one: JuteReader) => one.long(),
      ]) {
        try {
          read(new JuteReader(body));
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }
    }),
  );
});

it("a frame larger than the limit, or of a negative size, is refused", () => {
  expect(() => new FrameSplitter(10).push(Buffer.from([0, 0, 0, 11]))).toThrow("a frame of 11 bytes; the limit is 10");
  expect(() => new FrameSplitter(10).push(Buffer.from([255, 255, 255, 255]))).toThrow("a frame of -1 bytes");
});

it("watches are set again in requests that a server accepts, each watch once", () => {
  const watches = new Watches();
  const paths = Array.from({ length: 3_000 }, (_, index) => `/services/shop/${"x".repeat(100)}${index}`);
  for (const path of paths) watches.add("data", path, () => {});
  watches.add("child", "/services/shop", () => {});
  watches.add("exist", "/dubbo/mapping/s", () => {});
  const batches = watches.batches();
  expect(batches.flatMap(({ data }) => data)).toEqual(paths);
  expect(batches.flatMap(({ child, exist }) => [...child, ...exist]).sort()).toEqual([
    "/dubbo/mapping/s",
    "/services/shop",
  ]);
  for (const batch of batches) expect(Object.values(batch).flat().join("").length).toBeLessThan(200_000);
});
