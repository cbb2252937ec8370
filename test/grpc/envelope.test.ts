/**
 * Envelopes: any division of a body into chunks gives the same messages, and a message that is too large is refused before
 * it is complete.
 */
import fc from "fast-check";
import { Code } from "triple-es";
import { describe, expect, it, vi } from "vitest";
import { GreetService_greet } from "../../examples/gen/greet/v1/greet_triple.ts";
import { requestCountError } from "../../runtime/src/call/outcome.ts";
import {
  checkPrefix,
  type Envelope,
  EnvelopeReader,
  encodeEnvelope,
  onlyEnvelope,
} from "../../runtime/src/grpc/envelope.ts";
import { type Body, streamBody } from "../../runtime/src/http/body.ts";
import { readEnvelopes } from "../support/envelopes.ts";
import { chunked, envelope, joined } from "../support/greeter.ts";

async function collect(body: Body, limit = 1000): Promise<Envelope[]> {
  const all: Envelope[] = [];
  for await (const one of readEnvelopes(body, limit)) all.push(one);
  return all;
}

const plain = (all: readonly Envelope[]): unknown[] => all.map(({ compressed, data }) => [compressed, [...data]]);

const messages = fc.array(fc.record({ compressed: fc.boolean(), data: fc.uint8Array({ maxLength: 40 }) }), {
  maxLength: 6,
});
const encode = (all: readonly Envelope[]): Uint8Array =>
  joined(...all.map(({ compressed, data }) => encodeEnvelope(data, compressed ? 1 : 0)));

describe("an envelope", () => {
  it("is a flag, four bytes of length and the message", () => {
    expect([...encodeEnvelope(Uint8Array.of(7, 8))]).toEqual([0, 0, 0, 0, 2, 7, 8]);
    expect([...encodeEnvelope(Uint8Array.of(7), 1)]).toEqual([1, 0, 0, 0, 1, 7]);
    expect([...encodeEnvelope(new Uint8Array(0))]).toEqual([0, 0, 0, 0, 0]);
    expect([...encodeEnvelope(new Uint8Array(0x01_02_03)).subarray(0, 5)]).toEqual([0, 0, 1, 2, 3]);
  });
});

describe("a body", () => {
  it("gives the same messages for any division into chunks", async () => {
    await fc.assert(
      fc.asyncProperty(messages, fc.array(fc.integer({ min: 0, max: 300 })), async (all, cuts) => {
        const bytes = encode(all);
        const borders = [0, ...cuts.filter((cut) => cut <= bytes.byteLength).sort((a, b) => a - b), bytes.byteLength];
        const chunks = borders.slice(1).map((end, i) => bytes.subarray(borders[i], end));
        expect(plain(await collect(streamBody(chunked(chunks))))).toEqual(plain(all));
      }),
    );
  });

  it("gives the same messages if it is cut at one byte or at every byte", async () => {
    const all = ["", "a", "hello"].map((text) => ({ compressed: false, data: new TextEncoder().encode(text) }));
    const bytes = encode(all);
    for (let cut = 0; cut <= bytes.byteLength; cut++) {
      const halves = [bytes.subarray(0, cut), bytes.subarray(cut)];
      expect(plain(await collect(streamBody(chunked(halves))))).toEqual(plain(all));
    }
    const single = [...bytes].map((byte) => Uint8Array.of(byte));
    expect(plain(await collect(streamBody(chunked(single))))).toEqual(plain(all));
  });

  it("that is cut off in an envelope is an internal error, after the messages before it", async () => {
    const bytes = joined(envelope("first"), envelope("second"));
    for (let end = 11; end < bytes.byteLength; end++) {
      const got: Envelope[] = [];
      const reading = (async () => {
        for await (const one of readEnvelopes(streamBody(chunked([bytes.subarray(0, end)])), 100)) got.push(one);
      })();
      await expect(reading).rejects.toMatchObject({
        code: Code.Internal,
        rawMessage: expect.stringContaining("middle"),
      });
      expect(got).toHaveLength(1);
    }
  });

  it("without envelopes has no messages", async () => {
    expect(await collect(streamBody(chunked([])))).toEqual([]);
    expect(await collect(streamBody(chunked([new Uint8Array(0)])))).toEqual([]);
  });

  it("is cancelled when its reader stops", async () => {
    const left = vi.fn();
    const body = streamBody(chunked([envelope("a"), envelope("b"), envelope("c")], left));
    for await (const _ of readEnvelopes(body, 100)) break;
    expect(left).toHaveBeenCalledTimes(1);
  });
});

describe("flags", () => {
  it.each([2, 3, 4, 128, 255])("%i do not exist", async (flags) => {
    await expect(collect(streamBody(chunked([envelope("a", flags)])))).rejects.toMatchObject({ code: Code.Internal });
  });
});

describe("the limit", () => {
  it("accepts a message of that size", async () => {
    expect(await collect(streamBody(chunked([envelope("12345")])), 5)).toHaveLength(1);
  });

  it.each([6, 0x7f_ff_ff_ff, 0x80_00_00_00, 0xff_ff_ff_ff])(
    "refuses a prefix of %d bytes before the message arrives",
    (length) => {
      const prefix = new Uint8Array(5);
      new DataView(prefix.buffer).setUint32(1, length);
      const reader = new EnvelopeReader(5);
      reader.push(prefix.subarray(0, 4));
      expect(reader.next()).toBeUndefined();
      reader.push(prefix.subarray(4));
      expect(() => reader.next()).toThrow(expect.objectContaining({ code: Code.ResourceExhausted }));
    },
  );

  it("reads no further chunk of a message that is too large", async () => {
    let made = 0;
    function* chunks(): Generator<Uint8Array> {
      made++;
      yield envelope("123456").subarray(0, 5);
      for (;;) {
        made++;
        yield Uint8Array.of(1);
      }
    }
    await expect(collect(streamBody(chunked(chunks())), 5)).rejects.toMatchObject({ code: Code.ResourceExhausted });
    expect(made).toBe(1);
  });
});

describe("the one envelope of a unary body", () => {
  it("is that envelope", () => {
    expect(plain([onlyEnvelope(envelope("a"), 10, requestCountError, GreetService_greet)])).toEqual([[false, [97]]]);
  });

  it.each<[string, Uint8Array, Code, string]>([
    ["none", new Uint8Array(0), Code.Unimplemented, "none"],
    ["two", joined(envelope("a"), envelope("b")), Code.Unimplemented, "more than one"],
    ["half of one", envelope("abc").subarray(0, 6), Code.Internal, "middle"],
    ["half a prefix", envelope("abc").subarray(0, 3), Code.Internal, "middle"],
    ["one and a half", joined(envelope("a"), envelope("b").subarray(0, 4)), Code.Internal, "middle"],
  ])("is not %s", (_what, body, code, message) => {
    expect(() => onlyEnvelope(body, 10, requestCountError, GreetService_greet)).toThrow(
      expect.objectContaining({ code, rawMessage: expect.stringContaining(message) }),
    );
  });
});

describe("the check of a prefix", () => {
  it("copies no more than the prefix, whatever the size of the chunks", () => {
    const set = vi.spyOn(Object.getPrototypeOf(Uint8Array.prototype) as Uint8Array, "set");
    try {
      const body = encodeEnvelope(new Uint8Array(60_000));
      set.mockClear();
      checkPrefix([body.subarray(0, 2), body.subarray(2, 4), body.subarray(4)], body.byteLength, 60_000);
      expect(set.mock.calls.map(([bytes]) => bytes.length)).toEqual([2, 2, 1]);
    } finally {
      set.mockRestore();
    }
  });

  it("finds a message that is too large in any chunks", () => {
    const body = envelope("abc");
    for (let at = 1; at < 5; at++) {
      const chunks = [body.subarray(0, at), body.subarray(at)];
      expect(() => checkPrefix(chunks, body.byteLength, 2)).toThrow("larger than the limit of 2 bytes");
    }
  });
});
