/**
 * Source maps from declarations to the proto file they come from: editors follow them, so that go-to-definition on a
 * stub opens the proto file.
 */
import type { Position } from "./comments.ts";

/** A declared name, with its place in the proto file if that is to be remembered. */
export type Anchor = (name: string, position: Position | undefined) => string;

/** Remembers nothing. */
export const noAnchor: Anchor = (name) => name;

/** Nothing printed can contain it: strings are escaped, and comments lose control characters. */
const MARK = "\u0000";

/** Marks the place within the text itself, because where a line ends up is known last. */
export const mark: Anchor = (name, position) =>
  position === undefined ? name : `${MARK}${position.line},${position.column}${MARK}${name}`;

/** Takes the marks out of a text. */
export function unmark(text: string): { text: string; mappings: string } {
  const lines: string[] = [];
  const mappings: string[] = [];
  const encode = createEncoder();
  for (const line of text.split("\n")) {
    const [head = "", ...marked] = line.split(MARK);
    let plain = head;
    const segments: string[] = [];
    for (let i = 0; i + 1 < marked.length; i += 2) {
      const [proto = 0, column = 0] = (marked[i] as string).split(",").map(Number);
      const name = /^[\w$]*/.exec(marked[i + 1] as string)?.[0] ?? "";
      segments.push(encode(plain.length, proto, column, segments.length === 0));
      // The end of the name ends the mapping: what follows on the line comes from nowhere in the proto file.
      segments.push(encode(plain.length + name.length));
      plain += marked[i + 1];
    }
    lines.push(plain);
    mappings.push(segments.join(","));
  }
  return { text: lines.join("\n"), mappings: mappings.join(";") };
}

/** The text of a source map of one source. */
export function sourceMap(file: string, source: string, mappings: string): string {
  return JSON.stringify({ version: 3, file, sourceRoot: "", sources: [source], names: [], mappings });
}

type Encode = (column: number, sourceLine?: number, sourceColumn?: number, isFirst?: boolean) => string;

/** Numbers of a segment are differences to the segment before; those of columns start over on each line. */
function createEncoder(): Encode {
  const last = { column: 0, sourceLine: 0, sourceColumn: 0 };
  return (column, sourceLine, sourceColumn, isFirst = false) => {
    const delta = isFirst ? column : column - last.column;
    last.column = column;
    if (sourceLine === undefined || sourceColumn === undefined) return vlq(delta);
    const segment = [delta, 0, sourceLine - last.sourceLine, sourceColumn - last.sourceColumn].map(vlq).join("");
    Object.assign(last, { sourceLine, sourceColumn });
    return segment;
  };
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** A number in base 64, least digits first: five bits a digit, a sixth says that more follow. The sign is the lowest bit. */
function vlq(value: number): string {
  let rest = value < 0 ? (-value << 1) | 1 : value << 1;
  let digits = "";
  do {
    const digit = rest & 31;
    rest >>>= 5;
    digits += DIGITS[rest > 0 ? digit | 32 : digit];
  } while (rest > 0);
  return digits;
}
