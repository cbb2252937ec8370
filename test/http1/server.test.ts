/** The server's role on an HTTP/1.1 connection: re-chunking, responses, limits and the end of connections. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ServerExchange } from "../../runtime/src/http1/exchange.ts";
import { Peer, respond } from "./peer.ts";

const NONE = { raw: [], frozen: false };
const get = (path = "/"): string => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`;
const post = (body: string, fields = ""): string =>
  `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n${fields}\r\n${body}`;

/** A request, or a part of one with a byte that is deleted, doubled or inserted. */
const piece = fc.oneof(
  fc.constantFrom(get(), get("/a?b=%20"), post("hello"), post(get("/evil"))),
  fc
    .array(fc.string({ minLength: 1, maxLength: 40 }), { maxLength: 4 })
    .map((chunks) =>
      [
        "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nX-Long-Name-Of-A-Field: some value\r\n\r\n",
        ...chunks
          .map((chunk) => Buffer.from(chunk).toString("latin1"))
          .map((c) => `${c.length.toString(16)};x=y\r\n${c}\r\n`),
        "0\r\nt: u\r\n\r\n",
      ].join(""),
    ),
);
const mutation = fc.record({
  at: fc.nat(400),
  kind: fc.constantFrom("none", "none", "delete", "double", "insert"),
  byte: fc.constantFrom("\r", "\n", "\0", "\x0b", ":", ";", ",", " ", "\xff"),
});
const dialogue = fc
  .tuple(fc.array(piece, { minLength: 1, maxLength: 5 }), mutation)
  .map(([pieces, { at, kind, byte }]) => {
    const text = pieces.join("");
    const i = at % text.length;
    if (kind === "delete") return text.slice(0, i) + text.slice(i + 1);
    if (kind === "double") return text.slice(0, i + 1) + text.slice(i);
    return kind === "insert" ? text.slice(0, i) + byte + text.slice(i) : text;
  });

it.each(["\x16\x03\x01\x02", "\0", "\x80PRI", "{"])(
  "bytes of another protocol, such as %j, are refused at once",
  (bytes) => {
    const peer = new Peer().receive(bytes);
    expect(peer.refusals.map(([status]) => status)).toEqual([400]);
    expect(peer.over).toBe("ended");
  },
);

describe("any re-chunking of the input", () => {
  it("gives the same requests, the same refusal and the same output", () => {
    const ends = fc
      .array(fc.integer({ min: 1, max: 1_500 }), { maxLength: 20 })
      .map((list) => list.sort((a, b) => a - b));
    fc.assert(
      fc.property(dialogue, ends, (text, cuts) => {
        const bytewise = Array.from({ length: text.length }, (_, i) => i);
        const results = [[], cuts, bytewise].map((ends) => {
          const peer = new Peer().receive(text, ends);
          peer.connection.receiveEnd();
          return [peer.seen.filter(({ end }) => end === "whole"), peer.refusals, peer.statuses, peer.over];
        });
        expect(results[1]).toEqual(results[0]);
        expect(results[2]).toEqual(results[0]);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("a response", () => {
  const send = (request: string, how: (exchange: ServerExchange) => void): Peer => {
    const peer = new Peer({}, how).receive(request);
    peer.take();
    return peer;
  };

  it.each<[name: string, request: string, how: (exchange: ServerExchange) => void, output: string]>([
    ["that is whole", get(), (x) => respond(x, "ab"), "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab"],
    ["of 204", get(), (x) => x.respond(204, NONE, new Uint8Array()), "HTTP/1.1 204 No Content\r\n\r\n"],
    ["to HEAD", get().replace("GET", "HEAD"), (x) => respond(x, "ab"), "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"],
    [
      "in chunks",
      get(),
      (x) => {
        x.respond(200, NONE, undefined);
        x.sendData(Buffer.from("ab"), false);
        x.sendData(Buffer.from(""), true);
      },
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    ],
    [
      "in chunks with a length",
      get(),
      (x) => {
        x.respond(200, { raw: ["content-length", "2"], frozen: false }, undefined);
        x.sendData(Buffer.from("ab"), true);
      },
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab",
    ],
    [
      "in chunks to HTTP/1.0",
      get().replace("1.1", "1.0"),
      (x) => {
        x.respond(200, NONE, undefined);
        x.sendData(Buffer.from("ab"), true);
      },
      "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nab",
    ],
    [
      "after 100 (Continue)",
      "POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n",
      (x) => x.inform(),
      "HTTP/1.1 100 Continue\r\n\r\n",
    ],
    [
      "to a body that was not asked for",
      "POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n",
      (x) => respond(x),
      "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    ],
  ])("%s", (_, request, how, output) => {
    expect(send(request, how).output).toBe(output);
  });

  it.each([
    ["a name with a space", ["a b", "c"]],
    ["a value with CRLF", ["a", "b\r\nc: d"]],
    ["a value that becomes CRLF if it is cut to bytes", ["a", "\u010d\u010a"]],
    ["a field that frames the message", ["transfer-encoding", "chunked"]],
    ["another length", ["content-length", "3"]],
    ["two lengths", ["content-length", "2", "content-length", "2"]],
  ])("with %s is not sent at all", (_, raw) => {
    const peer = send(get(), (x) => {
      expect(() => x.respond(200, { raw, frozen: false }, Buffer.from("ab"))).toThrow(TypeError);
    });
    expect([peer.output, peer.over]).toEqual(["", undefined]);
  });

  it.each([
    ["shorter", "a"],
    ["longer", "abc"],
  ])("that is %s than its length loses the connection", (_, body) => {
    const peer = send(get(), (x) => {
      x.respond(200, { raw: ["content-length", "2"], frozen: false }, undefined);
      x.sendData(Buffer.from(body), true);
    });
    expect(peer.over).toBe("lost");
  });

  it("that is large is taken in parts, and the next request waits for its end", () => {
    const peer = new Peer({}, (x) => respond(x, "x".repeat(300_000))).receive(get() + get());
    expect(peer.requests).toHaveLength(1);
    expect(peer.connection.take(128 * 1024).bytes).toBe(128 * 1024);
    expect(peer.requests).toHaveLength(1);
    peer.take();
    expect(peer.requests).toHaveLength(2);
  });

  it("that is large counts in full as memory until its last part has been written", () => {
    const { connection } = new Peer({}, (x) => respond(x, "x".repeat(300 * 1024))).receive(get());
    connection.take(128 * 1024);
    connection.take(128 * 1024);
    expect([connection.unsent < 45 * 1024, connection.kept(true), connection.kept(false)]).toEqual([
      true,
      307_200,
      307_200,
    ]);
    connection.take(128 * 1024);
    expect([connection.unsent, connection.kept(true), connection.kept(false)]).toEqual([0, 307_200, 0]);
    connection.take(128 * 1024);
    expect(connection.kept(true)).toBe(0);
  });

  it("that is not taken makes its sender wait", () => {
    const peer = new Peer({}, (x) => x.respond(200, NONE, undefined)).receive(get());
    const { exchange, drained } = peer.requests[0] as Peer["requests"][0];
    expect(exchange.sendData(new Uint8Array(60_000), false)).toBe(true);
    expect(exchange.sendData(new Uint8Array(60_000), false)).toBe(false);
    peer.take();
    expect(peer.requests[0]?.drained).toBe(drained + 1);
  });
});

describe("a connection", () => {
  it("processes one request at a time, and wants no input meanwhile", () => {
    const peer = new Peer({}, () => {}).receive(get("/1") + get("/2"));
    expect([peer.requests.length, peer.isPaused, peer.connection.waiting]).toEqual([1, true, get("/2").length]);
    respond(peer.requests[0]?.exchange as ServerExchange);
    expect([peer.requests.length, peer.isPaused, peer.connection.waiting]).toEqual([2, false, 0]);
  });

  it("wants no input while more than 64 KiB are unread", () => {
    const peer = new Peer({}, (x) => {
      x.consumed = () => {};
    }).receive(post("x".repeat(100_000)).slice(0, -10), [1_000, 90_000]);
    expect(peer.isPaused).toBe(true);
  });

  it("drops the rest of a request that has been answered, and serves the next one", () => {
    const peer = new Peer({}, (x) => respond(x)).receive(post("hello").slice(0, -3)).receive(`llo${get("/next")}`);
    expect(peer.statuses).toEqual([200, 200]);
    expect(peer.over).toBeUndefined();
  });

  it("is lost if a client sends too much after the answer", () => {
    const peer = new Peer({}, (x) => respond(x)).receive(
      "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 99999999999\r\n\r\n",
    );
    for (let i = 0; i < 64 && peer.over === undefined; i++) peer.connection.receive(new Uint8Array(1024 * 1024));
    expect(peer.over).toBeUndefined();
    peer.connection.receive(new Uint8Array(1));
    expect(peer.over).toBe("lost");
  });

  it.each([
    ["in a head", get().slice(0, -3), [400]],
    ["in a body", post("hello").slice(0, -3), [400]],
    ["between requests", get(), [200]],
    ["before the first byte", "", []],
  ])("ends when the client ends it %s", (_, text, statuses) => {
    const peer = new Peer().receive(text);
    peer.connection.receiveEnd();
    expect([peer.statuses, peer.over]).toEqual([statuses, "ended"]);
  });

  it.each([
    ["a head", get().slice(0, -3), [0, 10_000, 1], [408]],
    ["a body", post("hello").slice(0, -3), [0, 60_000, 1], [408]],
    ["the next request", get(), [0, 60_000, 1], [200]],
    ["the first byte", "", [0, 10_000, 1], []],
  ])("ends after the time limit of %s", (_, text, steps, statuses) => {
    const peer = new Peer().receive(text);
    for (const step of steps) {
      expect(peer.over).toBeUndefined();
      peer.connection.tick(step);
    }
    expect([peer.statuses, peer.over]).toEqual([statuses, "ended"]);
  });

  it("refuses a head above the limit, in one chunk and in many", () => {
    const text = `GET / HTTP/1.1\r\nhost: a\r\nx: ${"y".repeat(1_000)}\r\n\r\n`;
    for (const headBytes of [text.length, text.length - 1, 100]) {
      for (const ends of [[], [500], Array.from({ length: text.length }, (_, i) => i)]) {
        expect(new Peer({ headBytes }).receive(text, ends).statuses).toEqual([headBytes < text.length ? 431 : 200]);
      }
    }
  });

  it.each([
    ["while it is idle", get(), 0, [200]],
    ["in a head", get().slice(0, -3), 3, [200]],
    ["in a body", post("hello").slice(0, -3), 3, [200]],
  ])("that should end %s loses no response", (_, text, left, statuses) => {
    const whole = text.startsWith("GET") ? get() : post("hello");
    const peer = new Peer().receive(text);
    peer.connection.leave();
    if (left > 0) expect(peer.over).toBeUndefined();
    peer.receive(left === 0 ? "" : whole.slice(-left));
    expect([peer.statuses, peer.over]).toEqual([statuses, "ended"]);
  });

  it("parses a repeated head only once", () => {
    const peer = new Peer().receive(get("/a") + get("/a") + get("/b"));
    const [first, second, third] = peer.requests;
    expect(second?.head).toBe(first?.head);
    expect(third?.head).not.toBe(first?.head);
  });
});
