/**
 * The parser of server-sent events (WHATWG HTML, section 9.2.6). Fields other than `event` and `data` are ignored: a client of
 * methods neither reconnects nor resumes by itself.
 */
import { NO_BYTES } from "../call/bytes.ts";
import { tooLarge } from "../http/body.ts";

/** An event. `name` is empty for a message. */
export interface ReceivedEvent {
  readonly name: string;
  readonly data: string;
}

/** The decoder of the first line ignores a byte order mark. */
const FIRST_LINE = new TextDecoder();
const OTHER_LINES = new TextDecoder("utf-8", { ignoreBOM: true });

/** The bytes of `data: `. */
const DATA_PREFIX_BYTES = 6;
const LF = 0x0a;
const CR = 0x0d;

export class EventReader {
  /** The last line that is no field, but begins as JSON: Dubbo for Java writes some errors so, after the events. */
  stray: string | undefined;
  readonly #maxBytes: number;
  #chunk: Uint8Array = NO_BYTES;
  #at = 0;
  /** The bytes of a line whose end has not been received. */
  #line: Uint8Array = NO_BYTES;
  #held = 0;
  #isAfterCr = false;
  #isFirstLine = true;
  #lineBytes = 0;
  /** The bytes of the data of the event. */
  #size = 0;
  #name = "";
  #data: string[] = [];

  /** `maxBytes` limits the data of an event. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Adds a chunk, after {@link next} has returned `undefined`. */
  push(chunk: Uint8Array): void {
    this.#chunk = chunk;
    this.#at = 0;
  }

  /** Returns the next event that has been received. Throws `resource_exhausted` for one that is too large. */
  next(): ReceivedEvent | undefined {
    for (let line = this.#nextLine(); line !== undefined; line = this.#nextLine()) {
      if (line !== "") {
        this.#readField(line);
        continue;
      }
      const [name, data] = [this.#name, this.#data];
      this.#size = 0;
      this.#name = "";
      this.#data = [];
      if (data.length > 0) return { name, data: data.join("\n") };
    }
    return undefined;
  }

  /** Ends the body. A line without an end is read. Returns whether the body ended within an event, which is discarded. */
  end(): boolean {
    if (this.#held > 0) this.#readField(this.#takeLine(NO_BYTES));
    return this.#data.length > 0 || this.#name !== "";
  }

  #readField(line: string): void {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") {
      this.#size += this.#lineBytes - (line.length - value.length) + (this.#data.length > 0 ? 1 : 0);
      this.#checkSize(this.#size);
      this.#data.push(value);
    } else if (name === "event") this.#name = value;
    if (line.startsWith("{")) this.stray = line;
  }

  /** Returns the next line without its end: CR, LF or both. */
  #nextLine(): string | undefined {
    const chunk = this.#chunk;
    if (this.#isAfterCr && this.#at < chunk.byteLength) {
      if (chunk[this.#at] === LF) this.#at++;
      this.#isAfterCr = false;
    }
    const start = this.#at;
    let end = start;
    while (end < chunk.byteLength && chunk[end] !== LF && chunk[end] !== CR) end++;
    const part = chunk.subarray(start, end);
    this.#lineBytes = this.#held + part.byteLength;
    this.#checkSize(this.#lineBytes - DATA_PREFIX_BYTES);
    if (end === chunk.byteLength) {
      this.#at = end;
      this.#hold(part);
      return undefined;
    }
    this.#at = end + 1;
    this.#isAfterCr = chunk[end] === CR;
    return this.#takeLine(part);
  }

  #checkSize(bytes: number): void {
    if (bytes > this.#maxBytes) throw tooLarge(this.#maxBytes, `at least ${bytes}`);
  }

  /** Copies a part of a line: chunks belong to the connection. */
  #hold(part: Uint8Array): void {
    const held = this.#held + part.byteLength;
    if (held > this.#line.byteLength) {
      const grown = new Uint8Array(Math.max(held, 2 * this.#line.byteLength));
      grown.set(this.#line.subarray(0, this.#held));
      this.#line = grown;
    }
    this.#line.set(part, this.#held);
    this.#held = held;
  }

  #takeLine(last: Uint8Array): string {
    let bytes = last;
    if (this.#held > 0) {
      this.#hold(last);
      bytes = this.#line.subarray(0, this.#held);
      this.#line = NO_BYTES;
      this.#held = 0;
    }
    const decoder = this.#isFirstLine ? FIRST_LINE : OTHER_LINES;
    this.#isFirstLine = false;
    return decoder.decode(bytes);
  }
}
