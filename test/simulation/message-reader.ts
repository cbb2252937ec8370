/**
 * Reads the messages of one direction of an HTTP/1.1 connection (RFC 9112, sections 2 to 7). It shares no code with the engine
 * under test, which could otherwise hide its own mistakes.
 */

/** The head of a message: its first line, and its fields by lower-case name. */
export interface MessageHead {
  readonly line: string;
  readonly fields: ReadonlyMap<string, string>;
}

/** Receives the events of messages. */
export interface MessageListener {
  /** The first byte of a message. */
  onBegin(): void;
  onHead(head: MessageHead): void;
  onEnd(): void;
  /** The bytes are no message. Nothing more is read. */
  onInvalid(text: string): void;
}

/** The part of a message that the next bytes belong to: a head, a body of known length, or the size, the data and the trailers of chunks. */
type State = "head" | "body" | "size" | "data" | "trailer" | "invalid";

const TERMINATORS = { head: "\r\n\r\n", size: "\r\n", trailer: "\r\n" } as const;
const FIRST_LINE = /^(?:HTTP\/1\.1 [2-5]\d\d .*|[A-Z]+ \S+ HTTP\/1\.1)$/;
const LINE_END_BYTES = 2;

export class MessageReader {
  readonly #listener: MessageListener;
  #state: State = "head";
  /** The part of a head or a line that has been read. */
  #text = "";
  /** Bytes that are left of a body, or of a chunk with the end of its line. */
  #left = 0;

  constructor(listener: MessageListener) {
    this.#listener = listener;
  }

  read(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length && this.#state !== "invalid"; ) {
      if (this.#state === "body" || this.#state === "data") {
        const part = Math.min(this.#left, bytes.length - at);
        at += part;
        this.#left -= part;
        if (this.#left === 0) this.#endPart();
      } else {
        if (this.#state === "head" && this.#text === "") this.#listener.onBegin();
        this.#text += String.fromCharCode(bytes[at++] as number);
        if (this.#text.endsWith(TERMINATORS[this.#state])) this.#take(this.#state);
      }
    }
  }

  #endPart(): void {
    if (this.#state === "data") this.#state = "size";
    else this.#end();
  }

  #end(): void {
    this.#state = "head";
    this.#listener.onEnd();
  }

  #take(state: keyof typeof TERMINATORS): void {
    const text = this.#text.slice(0, -TERMINATORS[state].length);
    this.#text = "";
    if (state === "head") this.#takeHead(text);
    else if (state === "size") this.#takeSize(text);
    else if (text === "") this.#end();
  }

  #takeSize(text: string): void {
    const bytes = /^[\da-f]+$/i.test(text) ? Number.parseInt(text, 16) : Number.NaN;
    if (Number.isNaN(bytes)) this.#fail(`the size of a chunk is ${text}`);
    else this.#state = bytes === 0 ? "trailer" : "data";
    this.#left = bytes + LINE_END_BYTES;
  }

  #takeHead(text: string): void {
    const [line = "", ...lines] = text.split("\r\n");
    const fields = new Map(lines.map((one): [string, string] => [fieldName(one).toLowerCase(), fieldValue(one)]));
    const length = fields.get("content-length");
    const isChunked = fields.get("transfer-encoding") === "chunked";
    if (!FIRST_LINE.test(line)) this.#fail(`a message begins with ${line}`);
    else if (isChunked && length !== undefined) this.#fail("a message has two framings");
    else {
      this.#listener.onHead({ line, fields });
      this.#left = Number(length ?? 0);
      this.#state = isChunked ? "size" : "body";
      if (!isChunked && this.#left === 0) this.#end();
    }
  }

  #fail(text: string): void {
    this.#state = "invalid";
    this.#listener.onInvalid(text);
  }
}

function fieldName(line: string): string {
  return line.slice(0, line.indexOf(":"));
}

function fieldValue(line: string): string {
  return line.slice(line.indexOf(":") + 1).trim();
}
