/**
 * Metadata: the headers and trailers of a call. Engines, protocols and user code share this one type for header fields.
 */
import { BASE64, decodeBase64, encodeBase64 } from "./base64.ts";

/** Values that metadata can be made from. A name of a value in bytes must end in `-bin`. */
export type MetadataInit =
  | Iterable<readonly [name: string, value: string | Uint8Array]>
  | { readonly [name: string]: string | Uint8Array | readonly (string | Uint8Array)[] | undefined };

// Header-Name  → 1*( %x30-39 / %x61-7A / "_" / "-" / "." )
// ASCII-Value  → 1*( %x20-%x7E )       ; but no space at either end, where HTTP takes it away
const HEADER_NAME = /^[a-z0-9_.-]+$/;
const ASCII_VALUE = /^[!-~](?:[ -~]*[!-~])?$/;
// Tested for every name that is not found; lowercasing the name to compare would allocate a string each time.
const CAPITAL = /[A-Z]/;

/** The initial list of every instance. Most stay empty; the first field allocates a list. */
const NO_FIELDS: string[] = [];

/**
 * An ordered list of header fields (spec: Custom metadata). Names may repeat and are kept in lower case.
 *
 * A name ending in `-bin` carries bytes: set them as a `Uint8Array`, read them with {@link getBinary}. On the wire they
 * are base64, sent unpadded and read padded or not. Setting a field that breaks the grammar throws a `TypeError`, so
 * nothing malformed is ever sent.
 */
export class Metadata implements Iterable<[name: string, value: string]> {
  /** name, value, name, value …, the layout that engines read and write: no object per field. */
  #fields: string[] = NO_FIELDS;
  #frozen = false;
  /** The list has other owners: the first change makes a copy. */
  #isShared = false;

  constructor(init?: MetadataInit) {
    if (init !== undefined) this.appendAll(init);
  }

  /** Wraps the flat list of fields an engine received. Names must be in lower case; nothing is validated. */
  static fromRaw(fields: string[]): Metadata {
    const metadata = new Metadata();
    metadata.#fields = fields;
    return metadata;
  }

  /** Wraps a list that must not change: the metadata copies it before the first change. */
  static fromShared(fields: readonly string[]): Metadata {
    const metadata = Metadata.fromRaw(fields as string[]);
    metadata.#isShared = true;
    return metadata;
  }

  /** True if the fields can no longer change, so that an engine may cache their encoding. */
  get frozen(): boolean {
    return this.#frozen;
  }

  /** Makes every further change throw, for values that many calls share. */
  freeze(this: this): this {
    this.#frozen = true;
    return this;
  }

  /** The fields as a flat list, for engines. Do not change it. */
  get raw(): readonly string[] {
    return this.#fields;
  }

  /** Number of fields. */
  get size(): number {
    return this.#fields.length / 2;
  }

  /** The value of the field. Several values are joined with `, `, as in HTTP. */
  get(this: this, name: string): string | undefined {
    const fields = this.#fields;
    let joined: string | undefined;
    for (let i = 0; i < fields.length; i += 2) {
      if (fields[i] === name) joined = joined === undefined ? fields[i + 1] : `${joined}, ${fields[i + 1]}`;
    }
    return joined === undefined && CAPITAL.test(name) ? this.get(name.toLowerCase()) : joined;
  }

  /** Every value of the field, in order. */
  getAll(this: this, name: string): string[] {
    const key = name.toLowerCase();
    const fields = this.#fields;
    const values: string[] = [];
    for (let i = 0; i < fields.length; i += 2) {
      if (fields[i] === key) values.push(fields[i + 1] as string);
    }
    return values;
  }

  /** The bytes of a `-bin` field, the first if there are several. Throws a `TypeError` if they are not base64. */
  getBinary(this: this, name: string): Uint8Array | undefined {
    return this.getAllBinary(name)[0];
  }

  /** The bytes of every value of a `-bin` field. Values that peers or proxies have joined with commas are split. */
  getAllBinary(this: this, name: string): Uint8Array[] {
    requireBinaryName(name);
    return this.getAll(name).flatMap((joined) => joined.split(",").map((value) => decodeBinary(name, value.trim())));
  }

  has(this: this, name: string): boolean {
    return this.get(name) !== undefined;
  }

  /** Replaces all values of the field with one. */
  set(this: this, name: string, value: string | Uint8Array): this {
    return this.delete(name).append(name, value);
  }

  /** Adds a field and keeps others of the same name. */
  append(this: this, name: string, value: string | Uint8Array): this {
    const key = name.toLowerCase();
    // Engines keep fields in objects, in which this name sets the prototype.
    if (!HEADER_NAME.test(key) || key === "__proto__") {
      throw new TypeError(`metadata name ${JSON.stringify(name)} must consist of the characters 0-9 a-z _ - .`);
    }
    return this.#push(key, encodeValue(key, value));
  }

  /** Adds every field of other metadata, of a record or of a list. */
  appendAll(this: this, init: MetadataInit): this {
    if (init instanceof Metadata) return this.appendRaw(init.#fields);
    const entries = Symbol.iterator in init ? (init as Iterable<[string, string]>) : Object.entries(init);
    for (const [name, value] of entries) {
      if (value === undefined) continue;
      for (const one of Array.isArray(value) ? value : [value]) this.append(name, one as string | Uint8Array);
    }
    return this;
  }

  /** Adds the flat list of fields an engine received. Names must be in lower case; nothing is validated. */
  appendRaw(this: this, fields: readonly string[]): this {
    // Read before the loop: the list may be this one, which grows.
    const { length } = fields;
    for (let i = 0; i < length; i += 2) this.#push(fields[i] as string, fields[i + 1] as string);
    return this;
  }

  delete(this: this, name: string): this {
    const key = name.toLowerCase();
    this.#checkFrozen();
    if (this.#fields.includes(key)) this.#fields = this.#filter((field) => field !== key);
    return this;
  }

  /** Returns a copy with the fields whose names pass. */
  filter(this: this, keep: (name: string) => boolean): Metadata {
    return Metadata.fromRaw(this.#filter(keep));
  }

  *[Symbol.iterator](this: this): Iterator<[name: string, value: string]> {
    const fields = this.#fields;
    for (let i = 0; i < fields.length; i += 2) yield [fields[i] as string, fields[i + 1] as string];
  }

  /** The fields as a record of the values that {@link get} returns, for `JSON.stringify`. */
  toJSON(this: this): Record<string, string> {
    return Object.fromEntries([...this].map(([name]) => [name, this.get(name) as string]));
  }

  #push(name: string, value: string): this {
    this.#checkFrozen();
    if (this.#fields === NO_FIELDS || this.#isShared) {
      this.#fields = [...this.#fields, name, value];
      this.#isShared = false;
    } else this.#fields.push(name, value);
    return this;
  }

  #checkFrozen(): void {
    if (this.#frozen) throw new TypeError("this metadata is shared by many calls and cannot be changed");
  }

  #filter(keep: (name: string) => boolean): string[] {
    // The field before a value is its name.
    return this.#fields.filter((_, i, fields) => keep(fields[i - (i % 2)] as string));
  }
}

/**
 * Names of metadata that the specification defines for users to send and read (spec: Sub-protocol B request headers).
 * All are optional ASCII; the runtime passes them on unchanged.
 */
export const TripleHeader = {
  /** The trace that a call belongs to. */
  TraceId: "tri-trace-traceid",
  /** The span of the call within the trace. */
  SpanId: "tri-trace-rpcid",
  /** The cluster that the caller runs in. */
  UnitInfo: "tri-unit-info",
  /** The name of the calling application. Not in the specification; Dubbo sends it. */
  ConsumerAppName: "tri-consumer-appname",
} as const;

/** Reports whether a wire value of a `-bin` field is base64, possibly several values joined with commas. */
export function isBinaryValue(value: string): boolean {
  return value.split(",").every((one) => BASE64.test(one.trim()));
}

function encodeValue(name: string, value: string | Uint8Array): string {
  if (value instanceof Uint8Array) {
    requireBinaryName(name);
    return encodeBase64(value);
  }
  if (name.endsWith("-bin")) {
    if (isBinaryValue(value)) return value;
    throw new TypeError(`metadata "${name}" must be a Uint8Array or base64`);
  }
  if (ASCII_VALUE.test(value)) return value;
  throw new TypeError(
    `metadata "${name}" must be non-empty printable ASCII without space at either end; other values need a name ending in "-bin"`,
  );
}

function decodeBinary(name: string, value: string): Uint8Array {
  if (!BASE64.test(value)) throw new TypeError(`metadata "${name}" is not base64`);
  return decodeBase64(value);
}

function requireBinaryName(name: string): void {
  if (!name.toLowerCase().endsWith("-bin")) {
    throw new TypeError(`metadata "${name}" carries text: bytes need a name ending in "-bin"`);
  }
}
