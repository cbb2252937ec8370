/** The documents and their fenced blocks. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const ROOT: string = fileURLToPath(new URL("../../", import.meta.url));

/** One fenced block. The words after its language determine how it is verified. */
export interface Block {
  readonly document: string;
  /** Line of the opening fence. */
  readonly line: number;
  readonly language: string;
  /** The file that it is an excerpt of: `from=path`. */
  readonly from: string | undefined;
  /** The file whose code it continues: `after=path`. */
  readonly after: string | undefined;
  /** True if its commands are run in the repository instead of a user's project: `in=repository`. */
  readonly repository: boolean;
  /** The runtime that executes it, if that is not Node: `in=Bun`. */
  readonly platform: "Bun" | "Deno" | undefined;
  /** The path of the file that it is, from a comment in its first line. */
  readonly path: string | undefined;
  readonly text: string;
}

const FENCED = /^```(\S*)([^\n]*)\n(.*?)^```$/gms;
const PATH_COMMENT = /^(?:\/\/|#) (\S+\.\w+|Dockerfile)$/m;

export function readDocument(document: string): string {
  return readFileSync(`${ROOT}${document}`, "utf8");
}

export function readBlocks(document: string): Block[] {
  return blocksOf(document, readDocument(document));
}

/** The blocks of a text, which is called by the name of a document. */
export function blocksOf(document: string, source: string): Block[] {
  return Array.from(source.matchAll(FENCED), ({ index, 1: language = "", 2: words = "", 3: text = "" }) => ({
    document,
    line: source.slice(0, index).split("\n").length,
    language,
    from: /from=(\S+)/.exec(words)?.[1],
    after: /after=(\S+)/.exec(words)?.[1],
    repository: /in=repository/.test(words),
    platform: /in=(Bun|Deno)/.exec(words)?.[1] as "Bun" | "Deno" | undefined,
    path: PATH_COMMENT.exec(text.split("\n", 1)[0] ?? "")?.[1],
    text,
  }));
}

/** Returns the expected output of code: the comments after `console.log(…)`; several of a loop are joined by ", then ". */
export function expectedOutput(text: string): string[] {
  const comments = Array.from(text.matchAll(/console\.log\(.*\),?;? +\/\/ (.+)$/gm), ([, comment = ""]) => comment);
  return comments.flatMap((comment) => comment.split(", then "));
}
