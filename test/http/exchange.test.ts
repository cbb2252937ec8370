/** Bodies that are known from the start or arrive in chunks, and the limit on them. */
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { concat } from "../../runtime/src/call/bytes.ts";
import { Code } from "../../runtime/src/call/code.ts";
import { type Body, emptyBody, streamBody, WholeBody } from "../../runtime/src/http/body.ts";
import { chunked } from "../support/greeter.ts";

const bytes = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => i);

async function chunksOf(body: Body): Promise<number[]> {
  const lengths: number[] = [];
  for await (const chunk of body) lengths.push(chunk.byteLength);
  return lengths;
}

describe("a whole body", () => {
  it("is known at once, and iterates over one chunk", async () => {
    const data = bytes(3);
    const body = new WholeBody(data);
    expect(body.whole).toBe(data);
    expect(await body.bytes(3)).toBe(data);
    expect(await chunksOf(body)).toEqual([3]);
  });

  it("without bytes iterates over none", async () => {
    expect(await chunksOf(emptyBody)).toEqual([]);
    expect(await emptyBody.bytes(0)).toHaveLength(0);
  });
});

describe("a body in chunks", () => {
  it("joins to the same bytes for any division into chunks", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 10 })), async (chunks) => {
        const all = Uint8Array.from(chunks.flatMap((chunk) => [...chunk]));
        expect(await streamBody(chunked(chunks)).bytes(all.byteLength)).toEqual(all);
        expect(concat(chunks, all.byteLength)).toEqual(all);
      }),
    );
  });

  it("is not known at once", () => {
    expect(streamBody(chunked([bytes(1)])).whole).toBeUndefined();
  });
});

describe.each([
  ["whole", (chunks: Uint8Array[]) => new WholeBody(concat(chunks, 6))],
  ["in chunks", (chunks: Uint8Array[]) => streamBody(chunked(chunks))],
])("the limit on a body %s", (_form, make) => {
  const chunks = [bytes(3), bytes(3)];

  it("accepts that many bytes", async () => {
    expect(await make(chunks).bytes(6)).toHaveLength(6);
  });

  it("refuses one byte more", async () => {
    await expect(make(chunks).bytes(5)).rejects.toMatchObject({
      code: Code.ResourceExhausted,
      rawMessage: expect.stringMatching(/^message of (at least )?6 bytes is larger than the limit of 5 bytes/),
    });
  });
});

it("a body over the limit is cancelled as soon as the limit is exceeded", async () => {
  const left = vi.fn();
  let made = 0;
  function* endless(): Generator<Uint8Array> {
    for (;;) {
      made++;
      yield bytes(10);
    }
  }
  await expect(streamBody(chunked(endless(), left)).bytes(25)).rejects.toMatchObject({
    code: Code.ResourceExhausted,
    rawMessage: expect.stringContaining("of at least 30 bytes"),
  });
  expect(made).toBe(3);
  expect(left).toHaveBeenCalledTimes(1);
});
