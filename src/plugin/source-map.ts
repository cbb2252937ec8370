/** Source maps from generated declarations to the proto file. With them, go-to-definition on a stub opens the proto file. */
import type { Position } from "./comments.ts";

/** Prints a declared name, and records its position in the proto file if the file gets a source map. */
export type Anchor = (name: string, position: Position | undefined) => string;

/** Prints a name without recording its position. */
export const noAnchor: Anchor = (name) => name;

/**
 * The delimiter of marks. Generated text cannot contain it: strings are escaped, and comments are stripped of control
 * characters.
 */
const MARK = "\u0000";

/**
 * Records the position as a mark in the text, because the line number of the name is known only when the file is
 * complete.
 */
export const mark: Anchor = (name, position) =>
  position === undefined ? name : `${MARK}${position.line},${position.column}${MARK}${name}`;

/** Removes the marks from a text and returns the mappings that they record. */
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
      // This segment ends the mapping at the end of the name, because the rest of the line has no position in the proto
      // file.
      segments.push(encode(plain.length + name.length));
      plain += marked[i + 1];
    }
    lines.push(plain);
    mappings.push(segments.join(","));
  }
  return { text: lines.join("\n"), mappings: mappings.join(";") };
}

/** Returns the text of a source map with one source. */
export function sourceMap(file: string, source: string, mappings: string): string {
  return JSON.stringify({ version: 3, file, sourceRoot: "", sources: [source], names: [], mappings });
}

type Encode = (column: number, sourceLine?: number, sourceColumn?: number, isFirst?: boolean) => string;

/** Creates an encoder of segments. Each number is the difference from the previous segment. Columns restart on each line. */
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

/**
 * Encodes a number as Base64 VLQ: five bits per digit, least significant digit first. The sixth bit is set if more
 * digits follow. The lowest bit of the number is the sign.
 */
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
