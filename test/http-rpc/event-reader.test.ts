/** The parser of server-sent events (WHATWG HTML, section 9.2.6), beside the npm package eventsource-parser. */
import { createParser } from "eventsource-parser";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventReader, type ReceivedEvent } from "../../runtime/src/http-rpc/event-reader.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

function read(chunks: Iterable<Uint8Array>, reader = new EventReader(1_000)): ReceivedEvent[] {
  const events: ReceivedEvent[] = [];
  for (const chunk of chunks) {
    reader.push(chunk);
    for (let event = reader.next(); event !== undefined; event = reader.next()) events.push(event);
    // The chunk belongs to its connection, which reuses it.
    chunk.fill(0x20);
  }
  return events;
}

function readAsPeer(text: string): ReceivedEvent[] {
  const events: ReceivedEvent[] = [];
  createParser({ onEvent: ({ event = "", data }) => events.push({ name: event, data }) }).feed(text);
  return events;
}

describe("events", () => {
  it.each<[what: string, text: string, events: ReceivedEvent[]]>([
    ["ours", 'data: {"a":1}\n\nevent: end\ndata:\n\n', [message('{"a":1}'), { name: "end", data: "" }]],
    ["those of Dubbo for Java", 'data:{"a":1}\n\ndata:2\n\n', [message('{"a":1}'), message("2")]],
    ["of several lines", "data: a\ndata\ndata:  b\n\n", [message("a\n\n b")]],
    ["with other line ends", "data: a\r\n\r\ndata: b\r\rdata: c\r\n\n", [message("a"), message("b"), message("c")]],
    ["with other fields", ": comment\nid: 7\nretry: 5\nother\ndata: a\n:\n\n", [message("a")]],
    ["without data", "event: end\n\ndata: a\n\n", [message("a")]],
    ["after a byte order mark", "\ufeffdata: a\n\n\ufeffdata: b\n\n", [message("a")]],
    ["with a byte order mark", "data: \ufeffa\n\n", [message("\ufeffa")]],
    ["that are not whole", "data: a\n\ndata: b\n", [message("a")]],
  ])("%s are read", (_, text, events) => {
    expect(read([bytesOf(text)])).toEqual(events);
    expect(read(Array.from(bytesOf(text), (byte) => Uint8Array.of(byte)))).toEqual(events);
  });

  it("are the same however their bytes arrive, and those that another parser reads", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        "data",
        "data:",
        "data: ",
        "event:",
        "event: ",
        "id: ",
        ":",
        " ",
        "é",
        "x",
      ),
      fc.string({ unit: "grapheme", maxLength: 4 }),
    );
    fc.assert(
      fc.property(fc.array(piece), fc.infiniteStream(fc.integer({ min: 1, max: 9 })), (pieces, sizes) => {
        // The peer takes a byte order mark anywhere in its first chunk.
        const text = pieces.join("").replaceAll("\ufeff", "");
        const whole = bytesOf(text);
        const chunks: Uint8Array[] = [];
        for (let at = 0; at < whole.byteLength; ) {
          const size = sizes.next().value as number;
          chunks.push(whole.slice(at, at + size));
          at += size;
        }
        expect(read(chunks)).toEqual(read([whole.slice()]));
        // The peer waits after a last CR, which may be half of a line end.
        if (!text.endsWith("\r")) expect(read([whole])).toEqual(readAsPeer(text));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("an event that is too large", () => {
  it.each([
    ["one line", `data: ${"x".repeat(1_001)}`],
    ["one line without a space", `data:${"x".repeat(1_001)}\n`],
    ["characters of two bytes", `data: ${"é".repeat(501)}`],
    ["many lines", "data: x\n".repeat(501)],
    ["a line without an end", "x".repeat(1_007)],
  ])("is refused: %s", (_, text) => {
    expect(() => read([bytesOf(text)])).toThrow(/at least \d+ bytes is larger than the limit of 1000 bytes/);
    expect(() => read(Array.from(bytesOf(text), (byte) => Uint8Array.of(byte)))).toThrow(/larger than the limit/);
  });

  it.each([
    ["with a name", `event: message\ndata: ${"x".repeat(1_000)}\n\n`],
    ["without a space", `data:${"é".repeat(500)}\n\n`],
    ["of several lines", `${"data: x\n".repeat(500)}data:\n\n`],
  ])("is not one as large as the limit, %s", (_, text) => {
    expect(read([bytesOf(text)])).toHaveLength(1);
    expect(read(Array.from(bytesOf(text), (byte) => Uint8Array.of(byte)))).toHaveLength(1);
  });

  it("is not one with many comments, nor one of many events", () => {
    const comments = ": a comment that keeps the connection öpen\n".repeat(100);
    expect(read([bytesOf(`data: a\n${comments}data: b\n\n${"data: c\n\n".repeat(1_000)}`)])).toHaveLength(1_001);
  });
});

describe("an error that Dubbo for Java writes after its events", () => {
  it.each(['data: a\n\n{"status":"500"}', 'data: a\n\n{"status":"500"}\n\n'])("is kept: %j", (text) => {
    const reader = new EventReader(1_000);
    expect(read([bytesOf(text)], reader)).toEqual([message("a")]);
    reader.end();
    expect(reader.stray).toBe('{"status":"500"}');
  });
});

function message(data: string): ReceivedEvent {
  return { name: "", data };
}
