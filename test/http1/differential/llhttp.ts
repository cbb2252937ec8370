/**
 * The verdicts of llhttp, the parser of `node:http`, in its strict mode. This is Node's own binding, because `node:http` does not
 * tell where a message ends. As a program it answers inputs, so that other versions of Node can be asked.
 */
import { readSync, writeSync } from "node:fs";
import type { Input } from "./messages.ts";
import type { Message, Verdict } from "./verdict.ts";

type Callback = (...parameters: never[]) => unknown;

interface Parser {
  initialize(type: number, resource: object, maxHeaderSize: number, lenient: number): void;
  execute(bytes: Uint8Array): number | Error;
  finish(): Error | undefined;
  close(): void;
  [callback: number]: Callback;
}
type ParserClass = Record<
  "REQUEST" | "RESPONSE" | "kOnHeaders" | "kOnHeadersComplete" | "kOnBody" | "kOnMessageComplete" | "kLenientNone",
  number
> & { new (): Parser };
interface Binding {
  readonly HTTPParser: ParserClass;
  readonly allMethods: readonly string[];
}

const { HTTPParser, allMethods } = readBinding();

function readBinding(): Binding {
  const { emitWarning } = process;
  // It is deprecated for programs that depend on it.
  process.emitWarning = () => {};
  const binding = (process as unknown as { binding(name: string): Binding }).binding("http_parser");
  process.emitWarning = emitWarning;
  return binding;
}

/** Results of the callback of a head: the body is read, or there is none. */
const READ_BODY = 0;
const SKIP_BODY = 1;
const MAX_HEAD_BYTES = 64 * 1024;

/** Parses byte by byte, because only the byte on which a message ends tells its end. */
export function parseWithLlhttp({ role, isHead, text }: Input): Verdict {
  const bytes = Buffer.from(text, "latin1");
  const parser = new HTTPParser();
  const messages: { -readonly [K in keyof Message]: Message[K] }[] = [];
  let fields: string[] = [];
  let target = "";
  let isInterim = false;
  let isRefused = false;
  let at = 0;
  const set = (callback: number, act: Callback): void => {
    parser[callback] = act;
  };
  // Many fields come in parts, as do trailers.
  set(HTTPParser.kOnHeaders, (part: string[], url: string) => {
    fields.push(...part);
    target += url;
  });
  set(
    HTTPParser.kOnHeadersComplete,
    (_: number, minor: number, last: string[] | undefined, method: number, url: string, status: number) => {
      fields.push(...(last ?? []));
      isInterim = role === "response" && status >= 100 && status < 200;
      // A switch of protocols has no request here.
      if (status === 101) isRefused = true;
      const line = role === "request" ? [allMethods[method] ?? "", url ?? target, String(minor)] : [String(status)];
      const names = fields.map((part, i) => (i % 2 === 0 ? part.toLowerCase() : part));
      if (!isInterim) messages.push({ line, fields: names, body: "", end: -1, isWhole: false });
      fields = [];
      target = "";
      return isHead ? SKIP_BODY : READ_BODY;
    },
  );
  set(HTTPParser.kOnBody, (part: Buffer) => {
    const message = messages.at(-1);
    if (message !== undefined && !isInterim) message.body += part.toString("latin1");
  });
  set(HTTPParser.kOnMessageComplete, () => {
    const message = messages.at(-1);
    fields = [];
    target = "";
    if (isInterim || message === undefined) return;
    message.isWhole = true;
    message.end = at;
  });
  parser.initialize(
    role === "request" ? HTTPParser.REQUEST : HTTPParser.RESPONSE,
    {},
    MAX_HEAD_BYTES,
    HTTPParser.kLenientNone,
  );
  while (at < bytes.length && !isRefused) {
    const byte = bytes.subarray(at, ++at);
    if (parser.execute(byte) instanceof Error) isRefused = true;
  }
  if (!isRefused) parser.finish();
  parser.close();
  return { messages, isRefused };
}

/** Reads the inputs of the standard input. */
function* readInputs(): Generator<Input> {
  let held = Buffer.alloc(0);
  const part = Buffer.alloc(64 * 1024);
  for (;;) {
    while (held.length >= 5 && held.length >= 5 + held.readUInt32BE(1)) {
      const end = 5 + held.readUInt32BE(1);
      const kind = held.toString("latin1", 0, 1);
      yield {
        role: kind === "Q" ? "request" : "response",
        isHead: kind === "H",
        text: held.toString("latin1", 5, end),
        ends: [],
      };
      held = held.subarray(end);
    }
    const length = readSync(0, part);
    if (length === 0) return;
    held = Buffer.concat([held, part.subarray(0, length)]);
  }
}

if (process.argv[1] === import.meta.filename) {
  for (const input of readInputs()) writeSync(1, `${JSON.stringify(parseWithLlhttp(input))}\n`);
}
