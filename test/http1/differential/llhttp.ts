/** Dialogues with mutated bytes, and what llhttp, the strict parser of `node:http`, makes of them. */
import { createServer, METHODS, type Server } from "node:http";
import fc from "fast-check";
import { MemorySocket } from "../../../runtime/src/node/io/duplex-pair.ts";
import { Peer } from "../peer.ts";

/** A request as both parsers report it. */
interface Parsed {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

const FIELDS = [
  "Content-Length: 5",
  "content-length: 0",
  "Content-Length: 3, 3",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: gzip, chunked",
  "Connection: close",
  "Connection: keep-alive",
  "Accept: */*",
  "X: a\tb",
  "X-Empty:",
];
const head = fc
  .tuple(
    fc.constantFrom("GET", "POST", "HEAD", "OPTIONS"),
    fc.constantFrom("/", "/a?b", "*", "//x/y"),
    fc.constantFrom("HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0"),
    fc.array(fc.constantFrom(...FIELDS), { maxLength: 3 }),
  )
  .map(
    ([method, path, version, fields]) =>
      `${[`${method} ${path} ${version}`, "Host: a", ...fields].join("\r\n")}\r\n\r\n`,
  );
const body = fc.constantFrom(
  "",
  "hello",
  "0\r\n\r\n",
  "5\r\nhello\r\n0\r\n\r\n",
  "3;a=b\r\nabc\r\n0\r\nT: u\r\n\r\n",
  "00\r\n\r\n",
);
const mutations = fc.array(
  fc.record({
    at: fc.nat(1_000),
    kind: fc.constantFrom("delete", "double", "insert", "replace"),
    byte: fc.constantFrom(
      "\r",
      "\n",
      "\r\n",
      "\0",
      "\x0b",
      "\t",
      " ",
      ":",
      ";",
      ",",
      "-",
      "+",
      "0",
      "1",
      "x",
      "\x85",
      "\xa0",
      "\xff",
    ),
  }),
  { maxLength: 3 },
);

export const dialogues: fc.Arbitrary<string> = fc
  .tuple(fc.array(fc.tuple(head, body), { minLength: 1, maxLength: 3 }), mutations)
  .map(([pairs, changes]) =>
    changes.reduce((text, { at, kind, byte }) => {
      const i = at % (text.length + 1);
      if (kind === "delete") return text.slice(0, i) + text.slice(i + 1);
      if (kind === "double") return text.slice(0, i + 1) + text.slice(i);
      return text.slice(0, i) + byte + text.slice(kind === "replace" ? i + 1 : i);
    }, pairs.flat().join("")),
  );

/** Returns the requests that the engine receives whole. */
export function parseWithEngine(text: string): Parsed[] {
  const peer = new Peer().receive(text);
  return peer.seen
    .filter(({ end }) => end === "whole")
    .map(({ method, path, body: bytes }) => ({ method, path, body: bytes }));
}

/** Turns of the event loop in which `node:http` answers the few requests of a dialogue: nothing in them waits. */
const TURNS = 30;

/** Returns the requests that `node:http` receives whole. */
export async function parseWithNode(text: string): Promise<Parsed[]> {
  const parsed: Parsed[] = [];
  const server: Server = createServer({ requireHostHeader: false, maxHeaderSize: 32 * 1024 }, (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on("error", () => {});
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const { method = "", url = "" } = incoming;
      parsed.push({ method, path: url, body: Buffer.concat(chunks).toString("latin1") });
      outgoing.end();
    });
  });
  // The default would drop the requests before the malformed one.
  server.on("clientError", () => {});
  const [near, far] = MemorySocket.pair();
  for (const end of [near, far]) end.on("error", () => {});
  server.emit("connection", far);
  near.resume();
  near.end(Buffer.from(text, "latin1"));
  for (let i = 0; i < TURNS; i++) await new Promise((resolve) => setImmediate(resolve));
  far.destroy();
  return parsed;
}

/**
 * Reports whether the engine is as strict as llhttp: it receives no request that llhttp does not receive with the same end.
 * llhttp has a list of methods. From a request with another method on, nothing is compared.
 */
export async function isAsStrict(text: string): Promise<boolean> {
  const ours = parseWithEngine(text);
  const known = ours.findIndex(({ method }) => !METHODS.includes(method));
  const compared = known < 0 ? ours : ours.slice(0, known);
  if (compared.length === 0) return true;
  const theirs = await parseWithNode(text);
  return compared.every((one, i) => JSON.stringify(one) === JSON.stringify(theirs[i]));
}
