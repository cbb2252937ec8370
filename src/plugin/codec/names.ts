/** The names that a generated codec uses: its own, those of other codecs, and those of the runtime. */
import type { DescEnum, DescMessage } from "@bufbuild/protobuf";

export interface CodecNames {
  /** The function that writes a message, imported if it is of another file. */
  encode(message: DescMessage): string;
  /** The function that reads a message. */
  decode(message: DescMessage): string;
  /** The function that makes a new message. */
  create(message: DescMessage): string;
  /** Imports the type of a message or enum. */
  type(type: DescMessage | DescEnum): string;
  /** Imports a value of the runtime. */
  runtime(name: string): string;
  /** Text that is for TypeScript only, such as `!`. */
  typed(text: string): string;
}

/** Indents all lines but empty ones. */
export function indent(lines: readonly string[], by = "  "): string[] {
  return lines.map((line) => (line === "" ? "" : `${by}${line}`));
}
