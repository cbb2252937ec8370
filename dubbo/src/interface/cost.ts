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
import { DEFAULT_MAX_MESSAGE_VALUES } from "triple-es/internal";
import { checkJsonValues } from "./json-values.ts";

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
  readonly #maxMessageValues: number;
  #values = 0;
  #made = 0;
  #bytes = 0;

  /** `maxMessageValues`: most values, counted separately when they are read or written, and when they are created. */
  constructor(maxMessageValues: number = DEFAULT_MAX_MESSAGE_VALUES) {
    this.#maxMessageValues = maxMessageValues;
  }

  /** Counts values that were read or are being written. */
  add(count: number): void {
    this.#values += count;
    if (this.#values > this.#maxMessageValues) throw this.#tooMany(this.#values);
  }

  /** Counts values that are created from values read: once more for each reference, and for each missing field. */
  make(count: number): void {
    this.#made += count;
    if (this.#made > this.#maxMessageValues) throw this.#tooMany(this.#made);
  }

  /**
   * Counts an entry that is added to a map or set of `size` entries. Engines hash text with a secret seed, but numbers with
   * a public function: if a peer chooses numbers with the same hash, each lookup takes time in proportion to their number
   * (hash flooding). Therefore numbers count in proportion too.
   */
  makeEntry(key: unknown, size: number): void {
    this.make(typeof key === "number" || typeof key === "bigint" ? 1 + size / NUMBERS : 1);
  }

  /** Counts the values of JSON text before it is parsed. */
  addJson(bytes: Uint8Array): void {
    this.add(checkJsonValues(bytes, this.#maxMessageValues - this.#values));
  }

  /** Counts bytes that are being written. */
  addBytes(count: number, maxBytes: number = DEFAULT_MAX_BYTES): void {
    this.#bytes += count;
    if (this.#bytes > maxBytes) throw limitError("bytes", maxBytes);
  }

  #tooMany(count: number): RpcError {
    const known = Math.ceil(count);
    return exhausted(
      `there are at least ${known} values, more than the limit of ${this.#maxMessageValues} (option maxMessageValues)`,
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
