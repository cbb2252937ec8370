/** The client's role on an HTTP/1.1 connection without I/O: responses in any chunks, and the end of a connection after any doubt. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Client } from "./client.ts";
import { CHUNKED, LAST, OK, REFUSED, REUSED } from "./responses.ts";

describe("a response", () => {
  it.each(REUSED)("%s is whole, and the connection is used again", (_, text, status, body, method) => {
    const client = new Client(2, method).receive(text).receive(text);
    expect(client.results).toEqual([
      [status, body, "whole"],
      [status, body, "whole"],
    ]);
    expect(client.connection.isOver).toBe(false);
  });

  it.each(LAST)("%s is whole, and the connection ends", (_, text, body) => {
    const client = new Client(1).receive(text);
    expect(client.results).toEqual([[200, body, "whole"]]);
    expect(client.connection.isOver).toBe(true);
  });

  it.each(REFUSED)("with %s ends the connection", (_, ...texts) => {
    for (const text of texts) {
      const client = new Client(2).receive(text).receive(OK);
      expect([text, client.seen.length, client.seen[0]?.end]).toEqual([text, 1, "lost"]);
      expect([text, client.connection.isOver, typeof client.error]).toEqual([text, true, "string"]);
    }
  });

  it("without a length ends with the connection, in both versions", () => {
    for (const version of ["1.0", "1.1"]) {
      const client = new Client(2).receive(`HTTP/${version} 200 OK¶¶ok`);
      expect(client.results).toEqual([[200, "ok", "open"]]);
      expect(client.end().results).toEqual([[200, "ok", "whole"]]);
      expect(client.connection.isOver).toBe(true);
    }
  });

  it.each([
    ["in its head", "HTTP/1.1 200 OK¶content-"],
    ["in a body with a length", OK.slice(0, -1)],
    ["in a chunk", `${CHUNKED}2¶o`],
    ["before the last chunk", `${CHUNKED}2¶ok¶`],
    ["in its trailers", `${CHUNKED}0¶x: y¶`],
    ["after an interim response", "HTTP/1.1 103 Early Hints¶¶"],
  ])("that is cut %s is lost", (_, text) => {
    const client = new Client().receive(text).end();
    expect(client.seen.map(({ end }) => end)).toEqual(["lost"]);
    expect(client.connection.isOver).toBe(true);
  });
});

it("bytes and the end of input without a request end the connection", () => {
  for (const act of [(client: Client) => client.receive(OK), (client: Client) => client.end()]) {
    const client = new Client(1).receive(OK);
    expect(client.connection.isOver).toBe(false);
    act(client);
    expect(client.connection.isOver).toBe(true);
    expect(client.results).toEqual([[200, "ok", "whole"]]);
  }
});

it("a response before the end of its request is whole, and the connection ends", () => {
  const client = new Client(1).receive(OK);
  const seen = client.next(null);
  seen.exchange?.sendData(Buffer.from("part"), false);
  client.receive(OK);
  expect([seen.status, seen.body, seen.end, seen.isClosed]).toEqual([200, "ok", "whole", true]);
  expect(client.connection.isOver).toBe(true);
});

it("any chunks of responses give the same results", () => {
  const part = fc.constantFrom(
    ...REUSED.filter(([, , , , method]) => method === undefined).map(([, text]) => text),
    ...LAST.map(([, text]) => text),
    ...REFUSED.map(([, text]) => text as string),
  );
  const mutate = fc.record({ at: fc.nat(), by: fc.constantFrom("", "\r", "\n", "\0", " ", ":", ";", ",", "0", "x") });
  fc.assert(
    fc.property(
      fc.array(part, { minLength: 1, maxLength: 3 }),
      fc.option(mutate),
      fc.array(fc.nat({ max: 400 }), { maxLength: 12 }),
      fc.boolean(),
      (parts, mutation, ends, isByteByByte) => {
        // One response for each request: bytes after it would end the connection if they came in the same chunk.
        const texts = parts.map((text) => {
          if (mutation === null) return text;
          const at = mutation.at % text.length;
          return text.slice(0, at) + mutation.by + text.slice(at + 1);
        });
        const [whole, cut] = [new Client(3), new Client(3)];
        for (const text of texts) {
          whole.receive(text);
          const length = text.replaceAll("¶", "\r\n").length;
          const all = Array.from({ length }, (_, i) => i + 1);
          // A connection takes no next request in the middle of what the other one receives at once.
          const requests = whole.seen.length;
          if (cut.seen.length > requests || cut.connection.isOver) break;
          cut.receive(text, isByteByByte ? all : ends.toSorted((a, b) => a - b));
        }
        const first = ({ seen: [one], connection }: Client) => [one?.status, one?.body, one?.end, connection.isOver];
        // Extra bytes are taken for the next response if the next request has been sent before they arrive.
        expect(first(cut).slice(0, 3)).toEqual(first(whole).slice(0, 3));
        if (!whole.connection.isOver) expect(cut.results).toEqual(whole.results);
      },
    ),
    { numRuns: 1_000 },
  );
});

it("random bytes never throw, and end with an error or an answer", () => {
  const piece = fc.constantFrom(
    "HTTP/1.1 ",
    "200",
    "¶",
    "content-length: 3",
    "transfer-encoding: chunked",
    "a: b",
    "\0",
    "3",
  );
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 20 }),
      fc.array(fc.nat({ max: 100 }), { maxLength: 5 }),
      (pieces, ends) => {
        const client = new Client()
          .receive(
            `HTTP/1.1 200 OK¶${pieces.join("")}`,
            ends.toSorted((a, b) => a - b),
          )
          .end();
        expect(client.connection.isOver).toBe(true);
        expect(client.seen.every(({ end }) => end !== "open")).toBe(true);
      },
    ),
    { numRuns: 1_000 },
  );
});
