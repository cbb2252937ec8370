/** Transcripts of calls on the wire, the contents of fixtures/wire/*.txt. fixtures/wire/README.md describes the format. */
import { gunzipSync, gzipSync } from "node:zlib";
import { Code, type RpcError } from "triple-es";
import { codeFromName } from "../../runtime/src/call/code.ts";
import { WholeBody } from "../../runtime/src/http/body.ts";
import { readEnvelopes } from "./envelopes.ts";
import { envelope, joined } from "./greeter.ts";

/** A header or trailer. The value `...` matches any value. */
export type Field = readonly [name: string, value: string];

/** A part of a body: bytes, or a message in an envelope, either of them possibly compressed by gzip. */
export interface Part {
  /** The flags of the envelope; `undefined` for bytes outside an envelope. */
  readonly flags: number | undefined;
  readonly gzip: boolean;
  readonly data: Uint8Array;
}

/** One direction of an exchange. */
export interface Message {
  /** `POST /path` or an HTTP status. */
  readonly start: string;
  readonly headers: readonly Field[];
  readonly parts: readonly Part[];
  readonly trailers: readonly Field[];
}

export interface Transcript {
  readonly title: string;
  /** The notes on the two sides, by their first word. */
  readonly notes: ReadonlyMap<string, readonly string[]>;
  readonly request: Message;
  readonly response: Message;
}

/** Parses a transcript. Throws for an invalid line. */
export function parseTranscript(text: string): Transcript {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const notes = new Map<string, string[]>();
  for (const line of lines) {
    if (line.startsWith("@ ")) {
      const [, key = "", value = ""] = /^@ (\S+)(?: (.*))?$/.exec(line) ?? [];
      notes.set(key, [...(notes.get(key) ?? []), value]);
    } else if (!/^(?:#|[<>](?: |$))/.test(line)) throw new SyntaxError(`not a line of a transcript: ${line}`);
  }
  return {
    title: (lines[0] ?? "").replace(/^# */, ""),
    notes,
    request: parseMessage(lines, ">"),
    response: parseMessage(lines, "<"),
  };
}

function parseMessage(lines: readonly string[], mark: string): Message {
  const own = lines.filter((line) => line.startsWith(mark)).map((line) => line.slice(2));
  const [start = "", ...rest] = own;
  const sections: string[][] = [[]];
  for (const line of rest) {
    if (line === "") sections.push([]);
    else sections.at(-1)?.push(line);
  }
  const [headers = [], parts = [], trailers = []] = sections;
  return { start, headers: headers.map(parseField), parts: parts.map(parsePart), trailers: trailers.map(parseField) };
}

function parseField(line: string): Field {
  const [, name, value] = /^([^:]+): ?(.*)$/.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new SyntaxError(`not a header: ${line}`);
  return [name.toLowerCase(), value];
}

//     part = [ "envelope " flags " " ] [ "gzip " ] ( "hex " *hexdigits / text )
function parsePart(line: string): Part {
  const [, flags, gzip, hex, text = ""] = /^(?:envelope (\d+) ?)?(gzip )?(hex ?)?(.*)$/.exec(line) ?? [];
  return {
    flags: flags === undefined ? undefined : Number(flags),
    gzip: gzip !== undefined,
    data: hex === undefined ? new TextEncoder().encode(text) : parseHex(text),
  };
}

export function parseHex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text.replaceAll(" ", ""), "hex"));
}

/** The bytes of a body. */
export function bytesOf(parts: readonly Part[]): Uint8Array {
  return joined(
    ...parts.map(({ flags, gzip, data }) => {
      const bytes = gzip ? gzipSync(data) : data;
      return flags === undefined ? bytes : envelope(bytes, flags);
    }),
  );
}

/** Splits bytes like the expected parts, so that both can be compared independently of the output of gzip. */
export async function partsOf(bytes: Uint8Array, expected: readonly Part[]): Promise<Part[]> {
  const unzipped = (data: Uint8Array, i: number): Pick<Part, "gzip" | "data"> => {
    const gzip = expected[i]?.gzip ?? false;
    return { gzip, data: Uint8Array.from(gzip ? gunzipSync(data) : data) };
  };
  if (expected[0]?.flags === undefined) {
    return bytes.byteLength === 0 && expected.length === 0 ? [] : [{ flags: undefined, ...unzipped(bytes, 0) }];
  }
  const parts: Part[] = [];
  for await (const { compressed, data } of readEnvelopes(new WholeBody(bytes), 1_000_000)) {
    parts.push({ flags: compressed ? 1 : 0, ...unzipped(data, parts.length) });
  }
  return parts;
}

/** Returns fields for a comparison: sorted by name, with `...` where the transcript has it. */
export function comparable(fields: Iterable<Field>, expected: readonly Field[]): Field[] {
  const any = new Set(expected.filter(([, value]) => value === "...").map(([name]) => name));
  return [...fields]
    .map(([name, value]): Field => [name, any.has(name) ? "..." : value])
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

/** An error as transcripts write it: `<code> <status or -> <message>`. */
export function showError({ code, status, rawMessage }: RpcError): string {
  const name = Object.keys(Code).find((key) => Code[key as keyof typeof Code] === code) ?? "";
  return `${name} ${status ?? "-"} ${rawMessage}`.trimEnd();
}

/** Returns the code with the name in a `handler` note. */
export function parseCode(name: string): Code {
  const code = codeFromName(name);
  if (code === undefined) throw new SyntaxError(`not a code: ${name}`);
  return code;
}
