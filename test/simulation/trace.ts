/**
 * The trace of a simulation: its last lines, for reports, and a hash of all lines, by which two runs are compared.
 */

interface Line {
  readonly at: number;
  readonly kind: string;
  /** A text, or a function that makes it when the line is printed. */
  readonly subject: string | (() => string);
  readonly detail: string | number;
}

/** Lines that are kept for a report. */
const KEPT = 64;

export class Trace {
  /** FNV-1a, 32 bits, of all lines. */
  hash = 0x811c9dc5;
  readonly #lines: Line[] = [];
  readonly #print: ((line: string) => void) | undefined;

  /** `print` receives every line, for `--trace`. */
  constructor(print?: (line: string) => void) {
    this.#print = print;
  }

  add(at: number, kind: string, subject: string | (() => string), detail: string | number): void {
    this.mix(Math.round(at * 1_000));
    this.mixText(kind);
    if (typeof subject === "string") this.mixText(subject);
    if (typeof detail === "number") this.mix(detail);
    else this.mixText(detail);
    const line = { at, kind, subject, detail };
    this.#lines.push(line);
    if (this.#lines.length >= 2 * KEPT) this.#lines.splice(0, KEPT);
    this.#print?.(format(line));
  }

  /** Adds a number to the hash only. */
  mix(value: number): void {
    this.hash = Math.imul(this.hash ^ value, 0x01000193) >>> 0;
  }

  mixText(text: string): void {
    let { hash } = this;
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    this.hash = hash >>> 0;
  }

  /** Adds bytes to the hash: the number of all of them, and a sample of at most 32. */
  mixBytes(bytes: Uint8Array): void {
    let hash = this.hash ^ bytes.length;
    const step = Math.max(1, bytes.length >> 5);
    for (let i = 0; i < bytes.length; i += step) hash = Math.imul(hash ^ (bytes[i] as number), 0x01000193);
    this.hash = hash >>> 0;
  }

  /** The last lines, in the order of time. */
  last(count: number): readonly string[] {
    return this.#lines.slice(-count).map(format);
  }
}

function format({ at, kind, subject, detail }: Line): string {
  const text = typeof subject === "string" ? `${subject} ${detail}` : subject();
  return `${at.toFixed(3).padStart(12)} ms  ${kind.padEnd(12)} ${text}`;
}
