/**
 * Metadata: the headers and trailers of a call. Engines, protocols and user code use this type for all header fields.
 */
import { BASE64, decodeBase64, encodeBase64 } from "./base64.ts";

/** Fields from which metadata can be created. The name of a field with a `Uint8Array` must end in `-bin`. */
export type MetadataInit =
  | Iterable<readonly [name: string, value: string | Uint8Array]>
  | { readonly [name: string]: string | Uint8Array | readonly (string | Uint8Array)[] | undefined };

// Header-Name  → 1*( %x30-39 / %x61-7A / "_" / "-" / "." )
// ASCII-Value  → 1*( %x20-%x7E )       ; without space at either end, because HTTP removes it
const HEADER_NAME = /^[a-z0-9_.-]+$/;
const ASCII_VALUE = /^[!-~](?:[ -~]*[!-~])?$/;
// This test runs for every name that is not found. Lowercasing the name without it would allocate a string each time.
const CAPITAL = /[A-Z]/;

/** The initial list of every instance. Most instances stay empty, so a list is allocated with the first field. */
const NO_FIELDS: string[] = [];

/**
 * An ordered list of header fields (spec: Custom metadata). A name may occur several times. Names are case-insensitive and
 * are stored in lower case.
 *
 * A field whose name ends in `-bin` carries bytes: set them as a `Uint8Array` and read them with {@link getBinary}. On the
 * wire they are base64, sent without padding and accepted with or without it. Setting a field with an invalid name or value
 * throws a `TypeError`, so malformed metadata is never sent.
 *
 * The body of the class does not name it: esbuild would rename the class to `_Metadata`, which logs would show.
 */
export class Metadata implements Iterable<[name: string, value: string]> {
  /** A flat list (name, value, name, value …), the layout of engines, which needs no object for each field. */
  #fields: string[] = NO_FIELDS;
  #frozen = false;
  /** True if the list may be shared with others, so that the first change must copy it. */
  #isShared = true;

  /** Creates metadata with the given fields. Throws a `TypeError` for an invalid name or value. */
  constructor(init?: MetadataInit) {
    if (init !== undefined) this.appendAll(init);
  }

  /**
   * Wraps the flat list of fields that an engine received, and copies it before the first change. Names must be in lower case;
   * nothing is validated.
   */
  static fromRaw(fields: readonly string[]): Metadata {
    const metadata = new this();
    metadata.#fields = fields as string[];
    return metadata;
  }

  /** True if the fields can no longer change, so that an engine may cache their encoding. */
  get frozen(): boolean {
    return this.#frozen;
  }

  /** Makes every later change throw a `TypeError`. Used for metadata that many calls share. */
  freeze(this: this): this {
    this.#frozen = true;
    return this;
  }

  /** The fields as a flat list, for engines. The list must not be changed. */
  get raw(): readonly string[] {
    return this.#fields;
  }

  /** Number of fields. */
  get size(): number {
    return this.#fields.length / 2;
  }

  /** Returns the value of the field, or `undefined` if it is absent. Several values are joined with `, `, as in HTTP. */
  get(this: this, name: string): string | undefined {
    const fields = this.#fields;
    let joined: string | undefined;
    for (let i = 0; i < fields.length; i += 2) {
      if (fields[i] === name) joined = joined === undefined ? fields[i + 1] : `${joined}, ${fields[i + 1]}`;
    }
    return joined === undefined && CAPITAL.test(name) ? this.get(name.toLowerCase()) : joined;
  }

  /** Returns all values of the field, in order. */
  getAll(this: this, name: string): string[] {
    const key = name.toLowerCase();
    const fields = this.#fields;
    const values: string[] = [];
    for (let i = 0; i < fields.length; i += 2) {
      if (fields[i] === key) values.push(fields[i + 1] as string);
    }
    return values;
  }

  /**
   * Returns the bytes of the first value of a `-bin` field, or `undefined` if it is absent. Throws a `TypeError` for a
   * value that is not base64, or a name that does not end in `-bin`.
   */
  getBinary(this: this, name: string): Uint8Array | undefined {
    return this.getAllBinary(name)[0];
  }

  /** Returns the bytes of all values of a `-bin` field, also of joined ones. Throws as {@link getBinary} does. */
  getAllBinary(this: this, name: string): Uint8Array[] {
    requireBinaryName(name);
    return this.getAll(name).flatMap((joined) => joined.split(",").map((value) => decodeBinary(name, value.trim())));
  }

  /** Reports whether there is a field with the name. */
  has(this: this, name: string): boolean {
    return this.get(name) !== undefined;
  }

  /** Replaces all values of the field with one value. Throws a `TypeError` for an invalid name or value. */
  set(this: this, name: string, value: string | Uint8Array): this {
    return this.delete(name).append(name, value);
  }

  /** Adds a field and keeps others of the same name. Throws a `TypeError` for an invalid name or value. */
  append(this: this, name: string, value: string | Uint8Array): this {
    const key = name.toLowerCase();
    // Engines store fields in plain objects, in which this name would set the prototype.
    if (!HEADER_NAME.test(key) || key === "__proto__") {
      throw new TypeError(`the name of metadata ${JSON.stringify(name)} must match [a-z0-9_.-]+`);
    }
    return this.#push(key, encodeValue(key, value));
  }

  /** Adds all fields of other metadata, a record or a list. Throws a `TypeError` for an invalid name or value. */
  appendAll(this: this, init: MetadataInit): this {
    if (typeof init !== "object" || !init) throw new TypeError("metadata must be an object");
    if (#fields in init) return this.appendRaw(init.#fields);
    const entries = Symbol.iterator in init ? (init as Iterable<[string, string]>) : Object.entries(init);
    for (const [name, value] of entries) {
      if (value === undefined) continue;
      for (const one of Array.isArray(value) ? value : [value]) this.append(name, one as string | Uint8Array);
    }
    return this;
  }

  /** Adds the flat list of fields that an engine received. Names must be in lower case; nothing is validated. */
  appendRaw(this: this, fields: readonly string[]): this {
    // The length is read before the loop, because `fields` may be the list of this instance, which grows.
    const { length } = fields;
    for (let i = 0; i < length; i += 2) this.#push(fields[i] as string, fields[i + 1] as string);
    return this;
  }

  /** Removes all fields with the name. */
  delete(this: this, name: string): this {
    const key = name.toLowerCase();
    this.#checkFrozen();
    if (this.#fields.includes(key)) this.#fields = this.#filter((field) => field !== key);
    return this;
  }

  /** Returns a copy with the fields for whose names `keep` returns true. */
  filter(this: this, keep: (name: string) => boolean): Metadata {
    return fromRaw(this.#filter(keep));
  }

  /** Iterates over the fields in order, as pairs of name and value. Values of `-bin` fields are base64. */
  *[Symbol.iterator](this: this): Iterator<[name: string, value: string]> {
    const fields = this.#fields;
    for (let i = 0; i < fields.length; i += 2) yield [fields[i] as string, fields[i + 1] as string];
  }

  /** Returns the fields as a record of the values that {@link get} returns, for `JSON.stringify`. */
  toJSON(this: this): Record<string, string> {
    return Object.fromEntries([...this].map(([name]) => [name, this.get(name) as string]));
  }

  #push(name: string, value: string): this {
    this.#checkFrozen();
    if (this.#isShared) {
      this.#fields = [...this.#fields, name, value];
      this.#isShared = false;
    } else this.#fields.push(name, value);
    return this;
  }

  #checkFrozen(): void {
    if (this.#frozen) throw new TypeError("shared metadata cannot be changed");
  }

  #filter(keep: (name: string) => boolean): string[] {
    // Both a name (even index) and the value after it are kept or dropped by the name.
    return this.#fields.filter((_, i, fields) => keep(fields[i - (i % 2)] as string));
  }
}

const fromRaw = (fields: string[]): Metadata => Metadata.fromRaw(fields);

/** The trailer with the load report of a call, a binary `xds.data.orca.v3.OrcaLoadReport` (gRFC A51). */
export const CALL_LOAD_REPORT = "endpoint-load-metrics-bin";

/**
 * Names of metadata that the specification defines for users to send and read (spec: Sub-protocol B request headers).
 * All are optional, with ASCII values. The runtime passes them on unchanged.
 */
export const TripleHeader = {
  /** The id of the trace that a call belongs to. */
  TraceId: "tri-trace-traceid",
  /** The id of the call's span within the trace. */
  SpanId: "tri-trace-rpcid",
  /** The cluster that the caller runs in. */
  UnitInfo: "tri-unit-info",
  /** The name of the calling application. Dubbo sends it; the specification does not define it. */
  ConsumerAppName: "tri-consumer-appname",
} as const;

/** Reports whether a received value of a `-bin` field is base64, or several base64 values joined with commas. */
export function isBinaryValue(value: string): boolean {
  return value.split(",").every((one) => BASE64.test(one.trim()));
}

function encodeValue(name: string, value: string | Uint8Array): string {
  if (value instanceof Uint8Array) {
    requireBinaryName(name);
    return encodeBase64(value);
  }
  const isBinary = name.endsWith("-bin");
  // Callers without a type checker can pass any value, which a regular expression would convert to text.
  if (typeof value === "string" && (isBinary ? isBinaryValue(value) : ASCII_VALUE.test(value))) return value;
  throw new TypeError(
    `metadata "${name}" must be ${isBinary ? "a Uint8Array or base64" : "a string of printable ASCII, not empty, without space at either end; others need a name ending in -bin"}`,
  );
}

function decodeBinary(name: string, value: string): Uint8Array {
  if (!BASE64.test(value)) throw new TypeError(`metadata "${name}" is not base64`);
  return decodeBase64(value);
}

function requireBinaryName(name: string): void {
  if (!name.toLowerCase().endsWith("-bin")) {
    throw new TypeError(`metadata "${name}" carries text: bytes need a name ending in -bin`);
  }
}
