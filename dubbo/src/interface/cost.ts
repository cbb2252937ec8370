/**
 * Counts the values of one message against `maxMessageValues`, in either direction. A few bytes can refer to an object a
 * million times (an amplification attack), and a message can have many arguments, so all values of a message are counted
 * together when they are read, created and written:
 *
 * - a list, a map, an object, a date or bytes as 1
 * - an entry of a map or an element of a set as 1, besides its key and value; numbers as more, see `makeEntry`
 * - any other value, and a reference to a value, as 1/4
 */
import { Code, RpcError, Status } from "triple-es";
import {
  BACKSLASH,
  COLON,
  COMMA,
  DEFAULT_MAX_MESSAGE_VALUES,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from "triple-es/internal";

/** Default limit on the bytes that are written, before compression. */
export const DEFAULT_MAX_BYTES: number = 64 * 2 ** 20;

/** The count of a value that JavaScript represents as an object. */
export const OBJECT = 1;
/** The count of any other value. */
export const LEAF: number = 1 / 4;

/** Numbers in one set, or among the keys of one map, that double the count of the next one. */
const NUMBERS = 512;

/** The counters of one message. The methods throw `resource_exhausted` when the limit is exceeded. */
export class Cost {
  /** The limit on values. */
  readonly maxMessageValues: number;
  #values = 0;
  #made = 0;
  #bytes = 0;

  /** `maxMessageValues`: most values, counted separately when they are read or written, and when they are created. */
  constructor(maxMessageValues: number = DEFAULT_MAX_MESSAGE_VALUES) {
    this.maxMessageValues = maxMessageValues;
  }

  /** Counts values that were read or are being written. */
  add(count: number): void {
    this.#values += count;
    if (this.#values > this.maxMessageValues) throw this.#tooMany(this.#values);
  }

  /** Counts values that are created from values read: once more for each reference, and for each missing field. */
  make(count: number): void {
    this.#made += count;
    if (this.#made > this.maxMessageValues) throw this.#tooMany(this.#made);
  }

  /**
   * Counts an entry that is added to a map or set of `size` entries. Engines hash text with a secret seed, but numbers with
   * a public function: if a peer chooses numbers with the same hash, each lookup takes time in proportion to their number
   * (hash flooding). Therefore numbers count in proportion too.
   */
  makeEntry(key: unknown, size: number): void {
    this.make(typeof key === "number" || typeof key === "bigint" ? 1 + size / NUMBERS : 1);
  }

  /** Counts the values of JSON text before it is parsed, which takes far longer. */
  addJson(bytes: Uint8Array): void {
    this.add(checkJsonValues(bytes, this.maxMessageValues - this.#values));
  }

  /** Counts bytes that are being written. */
  addBytes(count: number, maxBytes: number = DEFAULT_MAX_BYTES): void {
    this.#bytes += count;
    if (this.#bytes > maxBytes) throw limitError("bytes", maxBytes);
  }

  #tooMany(count: number): RpcError {
    const known = Math.ceil(count);
    return exhausted(
      `there are at least ${known} values, more than the limit of ${this.maxMessageValues} (option maxMessageValues)`,
    );
  }
}

/** Creates the error for a message that exceeds a limit. */
export function limitError(what: string, limit: number): RpcError {
  return exhausted(`there are more than the limit of ${limit} ${what}`);
}

/** Reports whether a message exceeds a limit, rather than being invalid. */
export function isLimitError(reason: unknown): boolean {
  return reason instanceof RpcError && reason.code === Code.ResourceExhausted;
}

function exhausted(message: string): RpcError {
  return new RpcError(Code.ResourceExhausted, message, { status: Status.BadRequest });
}

/**
 * Counts the values of JSON text: each list and each object as 1, each member of an object as 1/2, and each comma as 1/4. Stops
 * when there are more than `max`. Text that is not JSON may pass: the parser refuses it.
 */
function checkJsonValues(bytes: Uint8Array, max: number): number {
  const { length } = bytes;
  const most = Math.ceil(4 * max);
  // Integers, because engines do not optimize a loop well whose counter becomes a fraction.
  let quarters = 0;
  for (let i = 0; i < length && quarters <= most; i += 1) {
    const byte = bytes[i] as number;
    if (byte === QUOTE) i = closingQuote(bytes, i);
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) quarters += 4;
    else if (byte === COLON) quarters += 2;
    else if (byte === COMMA) quarters += 1;
  }
  return quarters / 4;
}

/** The position of the closing quote of a string, or the end of the text. */
function closingQuote(bytes: Uint8Array, start: number): number {
  const { length } = bytes;
  let i = start + 1;
  while (i < length && bytes[i] !== QUOTE) i += bytes[i] === BACKSLASH ? 2 : 1;
  return i;
}
