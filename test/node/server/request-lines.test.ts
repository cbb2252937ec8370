/** The request lines of HTTP/1.1 connections, found in their data. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Metadata } from "../../../runtime/src/call/metadata.ts";
import { MALFORMED_LINE } from "../../../runtime/src/node/server/http1/errors.ts";
import { RequestLines } from "../../../runtime/src/node/server/http1/request-lines.ts";

interface Request {
  readonly url: string;
  readonly before: number;
  readonly after: number;
  readonly header: string;
  readonly body: string;
}

/** A line that a body may contain too, to be mistaken for the line of the next request. */
const LINE = "POST /a.B/c HTTP/1.1\r\nhost: a\r\n\r\n";

const requests: fc.Arbitrary<Request[]> = fc.array(
  fc.record({
    url: fc.constantFrom("/a.B/c", "/a.B/d?x=%20", "*", "http://a/a.B/c", "/\u00e9"),
    before: fc.integer({ min: 1, max: 3 }),
    after: fc.integer({ min: 1, max: 3 }),
    header: fc.constantFrom("", "a  b", LINE.slice(0, 20)),
    body: fc.constantFrom("", "[{}]", LINE, LINE.replace(" ", "  "), "x".repeat(100)),
  }),
  { minLength: 1, maxLength: 6 },
);

function headOf({ url, before, after, header, body }: Request): string {
  const line = `POST${" ".repeat(before)}${url}${" ".repeat(after)}HTTP/1.1\r\n`;
  return `${line}host: a\r\nx-text: ${header}\r\ncontent-length: ${body.length}\r\n\r\n`;
}

const headersOf = ({ body }: Request): Metadata => new Metadata({ "content-length": String(body.length) });

/** Passes the requests in chunks that end at `ends`, as the parser would report them. Returns the requests with extra spaces. */
function findExtraSpaces(sent: readonly Request[], ends: readonly number[]): Request[] {
  const bytes = Buffer.from(sent.map((request) => headOf(request) + request.body).join(""), "latin1");
  const lines = new RequestLines();
  const found: Request[] = [];
  let parsed = 0;
  let position = 0;
  /** The end of the last request whose headers have been parsed. */
  let complete = 0;
  for (const end of [...new Set([...ends.filter((end) => end < bytes.length), bytes.length])].sort((a, b) => a - b)) {
    lines.begin(bytes.subarray(position, end), complete <= position);
    position = end;
    for (let next = sent[parsed]; next !== undefined; next = sent[++parsed]) {
      const headLength = headOf(next).length;
      if (complete + headLength > end) break;
      if (lines.validate({ method: "POST", url: next.url, httpVersion: "1.1" }, headersOf(next))) found.push(next);
      complete += headLength + next.body.length;
    }
    lines.end();
  }
  expect(parsed).toBe(sent.length);
  return found;
}

describe("request lines", () => {
  it("are judged wherever the reads end, and whatever bodies and values contain", () => {
    fc.assert(
      fc.property(requests, fc.array(fc.integer({ min: 1, max: 1_500 }), { maxLength: 12 }), (sent, ends) => {
        expect(findExtraSpaces(sent, ends)).toEqual(sent.filter(({ before, after }) => before + after > 2));
      }),
      { numRuns: 2_000 },
    );
  });

  it("are judged after a chunked body, and not within the same read", () => {
    const chunked = "POST /a HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
    const line = { method: "POST", url: "/a", httpVersion: "1.1" };
    const extra = Buffer.from("POST  /a HTTP/1.1\r\n\r\n");
    const lines = new RequestLines();
    lines.begin(Buffer.concat([Buffer.from(chunked), extra]), true);
    expect(lines.validate(line, new Metadata({ "transfer-encoding": "chunked" }))).toBeUndefined();
    expect(lines.validate(line, new Metadata())).toBeUndefined();
    lines.end();
    lines.begin(extra, true);
    expect(lines.validate(line, new Metadata())).toBe(MALFORMED_LINE);
  });

  it("are not judged beyond 16 KiB of headers that arrive in parts, and nothing more is kept", () => {
    const lines = new RequestLines();
    const line = { method: "POST", url: "/a", httpVersion: "1.1" };
    for (const part of ["POST  /a HTTP/1.1\r\n", `x-text: ${"x".repeat(17_000)}\r\n`, "\r\n"]) {
      lines.begin(Buffer.from(part), true);
      if (part !== "\r\n") lines.end();
    }
    expect(lines.validate(line, new Metadata())).toBeUndefined();
  });

  it("may follow empty lines", () => {
    const lines = new RequestLines();
    lines.begin(Buffer.from("\r\n\r\nPOST  /a HTTP/1.1\r\n\r\n"), true);
    expect(lines.validate({ method: "POST", url: "/a", httpVersion: "1.1" }, new Metadata())).toBe(MALFORMED_LINE);
  });
});

describe("bytes after a request with the field Upgrade", () => {
  const upgrade = new Metadata({ upgrade: "h2c" });
  const request = Buffer.from("GET / HTTP/1.1\r\nhost: a\r\nupgrade: h2c\r\n\r\n");
  const line = { method: "GET", url: "/", httpVersion: "1.1" };

  it("may be dropped if they are in the same read", () => {
    const lines = new RequestLines();
    lines.begin(Buffer.concat([request, Buffer.from("G")]), true);
    lines.validate(line, upgrade);
    expect(lines.end()).toBe(true);
  });

  it("are not dropped in a later read", () => {
    const lines = new RequestLines();
    lines.begin(request, true);
    lines.validate(line, upgrade);
    expect(lines.end()).toBe(false);
    for (const part of ["GET / HT", "TP/1.1\r\nhost: a\r\n"]) {
      lines.begin(Buffer.from(part), true);
      expect(lines.end()).toBe(false);
    }
  });
});
