/** The client's role on an HTTP/1.1 connection without I/O: responses in any chunks, and the end of a connection after any doubt. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ClientConnection } from "../../runtime/src/http1/client.ts";
import type { ClientExchange, ResponseSink } from "../../runtime/src/http1/exchange.ts";
import type { ResponseHead } from "../../runtime/src/http1/response.ts";
import { nodeLatin1 } from "../../runtime/src/node/io/http2-socket.ts";

/** The response of an exchange as a client receives it: its status, its body, and how it ended. */
class Seen implements ResponseSink {
  status = 0;
  body = "";
  end: "whole" | "lost" | "open" = "open";
  isClosed = false;
  exchange: ClientExchange | undefined;
  onResponse({ status }: ResponseHead): void {
    this.status = status;
  }
  onData(bytes: Uint8Array): void {
    this.body += Buffer.from(bytes).toString("latin1");
    this.exchange?.consumed(bytes.length);
  }
  onEnd(): void {
    this.end = "whole";
  }
  onReset(): void {
    this.end = "lost";
  }
  onDrain(): void {}
  onClosed(): void {
    this.isClosed = true;
  }
}

/** A client that sends the next of its requests when the exchange before it is over. */
class Client {
  readonly seen: Seen[] = [];
  readonly connection: ClientConnection;
  error: string | undefined;
  #left: number;
  readonly #method: string;

  constructor(requests = 2, method = "POST") {
    this.#left = requests;
    this.#method = method;
    this.connection = new ClientConnection(
      {
        onPause() {},
        onOver: (_, error) => {
          this.error = error?.message;
        },
      },
      {
        output: { wake() {}, slab: () => new Uint8Array(64 * 1024) },
        latin1: nodeLatin1,
        host: "a",
        maxHeadBytes: 1024,
      },
    );
    this.next();
  }

  next(body: Uint8Array | null = new Uint8Array()): Seen {
    const seen = new Seen();
    this.#left--;
    this.seen.push(seen);
    const head = { method: this.#method, path: "/", headers: { raw: [], frozen: false } };
    seen.exchange = this.connection.request(head, seen, body ?? undefined);
    return seen;
  }

  /** Receives text, in which ¶ is CRLF, in chunks that end at the given positions. */
  receive(text: string, ends: readonly number[] = []): this {
    const bytes = new Uint8Array(Buffer.from(text.replaceAll("¶", "\r\n"), "latin1"));
    let start = 0;
    for (const end of [...ends, bytes.length]) {
      if (end <= start || end > bytes.length) continue;
      this.connection.receive(bytes.slice(start, end));
      if (this.#left > 0 && this.seen.at(-1)?.isClosed && !this.connection.isOver) this.next();
      start = end;
    }
    return this;
  }

  end(): this {
    this.connection.receiveEnd();
    return this;
  }

  get results(): unknown[] {
    return this.seen.map(({ status, body, end }) => [status, body, end]);
  }
}

const OK = "HTTP/1.1 200 OK¶content-length: 2¶¶ok";
const CHUNKED = "HTTP/1.1 200 OK¶transfer-encoding: chunked¶¶";

/** Responses after which the connection is used again. */
const REUSED: readonly [name: string, response: string, status: number, body: string, method?: string][] = [
  ["with a length", OK, 200, "ok"],
  ["in chunks", `${CHUNKED}1;a="b"¶o¶1¶k¶0¶¶`, 200, "ok"],
  ["in chunks with trailers", `${CHUNKED}2¶ok¶0¶x: y¶z: 1¶¶`, 200, "ok"],
  ["without a reason phrase", "HTTP/1.1 200¶content-length: 2¶¶ok", 200, "ok"],
  [
    "after interim responses",
    `HTTP/1.1 100 Continue¶¶${"HTTP/1.1 103 Early Hints¶link: a¶¶".repeat(9)}${OK}`,
    200,
    "ok",
  ],
  ["of 204", "HTTP/1.1 204 No Content¶¶", 204, ""],
  ["of 304, whose length is that of another response", "HTTP/1.1 304 Not Modified¶content-length: 9¶¶", 304, ""],
  ["to HEAD", "HTTP/1.1 200 OK¶content-length: 9¶¶", 200, "", "HEAD"],
];

/** Responses that are whole, and after which the connection ends. */
const LAST: readonly [name: string, response: string, body: string][] = [
  ["with connection: close", "HTTP/1.1 200 OK¶connection: x, Close¶content-length: 2¶¶ok", "ok"],
  ["of HTTP/1.0", "HTTP/1.0 200 OK¶connection: keep-alive¶content-length: 2¶¶ok", "ok"],
  ["followed by bytes", `${OK}x`, "ok"],
  ["followed by another response", `${OK}${OK.replace("ok", "no")}`, "ok"],
  ["followed by an empty line", `${OK}¶`, "ok"],
];

/** Responses that are refused. */
const REFUSED: readonly [name: string, ...responses: string[]][] = [
  ["two lengths", ...["3", "2"].map((other) => `HTTP/1.1 200 OK¶content-length: 2¶content-length: ${other}¶¶ok`)],
  ["a list of lengths", "HTTP/1.1 200 OK¶content-length: 2, 2¶¶ok"],
  ["a length and a coding", `HTTP/1.1 200 OK¶content-length: 2¶transfer-encoding: chunked¶¶2¶ok¶0¶¶`],
  [
    "a length that is no number",
    ...["+2", "0x2", "2.0", "", "-1"].map((n) => `HTTP/1.1 200 OK¶content-length: ${n}¶¶ok`),
  ],
  ["another coding", ...["gzip", "gzip, chunked", "chunked, gzip"].map((c) => CHUNKED.replace("chunked", c))],
  ["a coding over HTTP/1.0", CHUNKED.replace("1.1", "1.0")],
  ["a folded field", "HTTP/1.1 200 OK¶x: a¶ b¶content-length: 2¶¶ok"],
  ["a space before the colon", "HTTP/1.1 200 OK¶content-length : 2¶¶ok"],
  ["LF without CR", "HTTP/1.1 200 OK\ncontent-length: 2¶¶ok", "HTTP/1.1 200 OK¶content-length: 2\n¶ok"],
  ["CR without LF", "HTTP/1.1 200 OK¶x: a\rb¶content-length: 2¶¶ok"],
  ["NUL in a value", "HTTP/1.1 200 OK¶x: a\0b¶content-length: 2¶¶ok"],
  ["a status out of range", ...["000", "099", "600", "999", "20", "2000", "abc"].map((s) => OK.replace("200", s))],
  ["another version", ...["HTTP/2.0", "HTTP/1.2", "http/1.1", "HTTP/1.1 "].map((v) => OK.replace("HTTP/1.1", v))],
  ["101 without an upgrade", "HTTP/1.1 101 Switching Protocols¶upgrade: x¶¶"],
  ["too many interim responses", "HTTP/1.1 102 Processing¶¶".repeat(11) + OK],
  ["an invalid chunk", ...["x", "-1", " 2", "2 ", "2\n"].map((size) => `${CHUNKED}${size}¶ok¶0¶¶`)],
  ["a chunk that is longer than its size", `${CHUNKED}1¶ok¶0¶¶`],
  ["too many trailers", `${CHUNKED}0¶${"a: b¶".repeat(33)}¶`, `${CHUNKED}0¶a: ${"b".repeat(4096)}¶¶`],
  ["a trailer that frames the message", `${CHUNKED}0¶content-length: 2¶¶`],
  ["a head over the limit", `HTTP/1.1 200 OK¶x: ${"x".repeat(1024)}¶¶`],
];

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
