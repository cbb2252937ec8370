/** The names that a generated codec uses: its own, those of other codecs, and those of the runtime. */
import type { DescEnum, DescMessage } from "@bufbuild/protobuf";

export interface CodecNames {
  /** Returns the function that writes a message, imported if the message is declared in another file. */
  encode(message: DescMessage): string;
  /** Returns the function that reads a message, imported likewise. */
  decode(message: DescMessage): string;
  /** Returns the function that makes a new message, imported likewise. */
  create(message: DescMessage): string;
  /** Imports the type of a message or enum. */
  type(type: DescMessage | DescEnum): string;
  /** Imports a value of the runtime. */
  runtime(name: string): string;
  /** Returns a call of the runtime's function `read…`. */
  read(name: string): string;
  /** Returns text for TypeScript output, such as `!`, and nothing for JavaScript output. */
  typed(text: string): string;
}

/** Indents all lines but empty ones. */
export function indent(lines: readonly string[], by = "  "): string[] {
  return lines.map((line) => (line === "" ? "" : `${by}${line}`));
}
