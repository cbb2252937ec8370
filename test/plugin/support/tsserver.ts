/** A client of TypeScript's language server, as in an editor. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./protos.ts";

export interface Place {
  readonly file: string;
  readonly line: number;
  readonly offset: number;
}

export interface TextSpan {
  readonly file: string;
  readonly start: { readonly line: number; readonly offset: number };
  readonly contextStart?: { readonly line: number; readonly offset: number };
}

export class LanguageServer {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, (body: unknown) => void>();
  #sequence = 0;
  #text = "";

  constructor(compiler: string) {
    const tsserver = join(root, `node_modules/${compiler}/lib/tsserver.js`);
    const flags = ["--disableAutomaticTypingAcquisition", "--suppressDiagnosticEvents"];
    this.#process = spawn(process.execPath, [tsserver, ...flags], { stdio: ["pipe", "pipe", "inherit"] });
    this.#process.stdout?.setEncoding("utf8").on("data", (text: string) => this.#read(text));
  }

  /** Sends a request about a position in a file, which is opened first. */
  async ask<T>(command: string, place: Place, more: object = {}): Promise<T> {
    this.#send("open", { file: place.file, fileContent: readFileSync(place.file, "utf8") });
    return new Promise((resolve) => {
      const sequence = this.#send(command, { ...place, ...more });
      this.#waiting.set(sequence, resolve as (body: unknown) => void);
    });
  }

  stop(): void {
    this.#process.kill();
  }

  #send(command: string, args: object): number {
    const seq = ++this.#sequence;
    this.#process.stdin?.write(`${JSON.stringify({ seq, type: "request", command, arguments: args })}\n`);
    return seq;
  }

  /** Each message is a separate line, between headers. */
  #read(text: string): void {
    this.#text += text;
    const lines = this.#text.split("\n");
    this.#text = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("{")) continue;
      const message = JSON.parse(line) as { type: string; request_seq: number; body?: unknown };
      if (message.type !== "response") continue;
      this.#waiting.get(message.request_seq)?.(message.body);
      this.#waiting.delete(message.request_seq);
    }
  }
}

/** Returns the position of the first character of a text in a file, or of a part of it. */
export function placeOf(file: string, text: string, part = text): Place {
  const content = readFileSync(file, "utf8");
  const index = content.indexOf(text);
  if (index < 0) throw new Error(`"${text}" is not in ${file}`);
  const before = content.slice(0, index + text.indexOf(part)).split("\n");
  return { file, line: before.length, offset: (before.at(-1)?.length ?? 0) + 1 };
}
