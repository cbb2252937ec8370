/** Metadata in the shape of `@grpc/grpc-js`, which handlers of Nest expect. */
import { Metadata, type MetadataInit } from "triple-es";

/** The value of a field: bytes if its name ends in `-bin`. */
export type MetadataValue = string | Buffer;

/** Metadata of `@grpc/grpc-js`, of this package or of `triple-es`, as far as its fields are read. */
export interface MetadataSource {
  toJSON(): Readonly<Record<string, string | readonly (string | Uint8Array)[]>>;
}

/** Returns the fields of metadata, for an instance of `triple-es`. */
export const fieldsOf = (metadata: MetadataSource): MetadataInit => metadata.toJSON();

/** Metadata of a call, with the methods of the class of that name of `@grpc/grpc-js`. Changes are not sent. */
export class GrpcMetadata implements MetadataSource {
  readonly #fields: Metadata;

  /** Creates metadata with a copy of the fields. */
  constructor(fields?: MetadataInit) {
    this.#fields = new Metadata(fields);
  }

  /** Returns all values of a field, in order. */
  get(key: string): MetadataValue[] {
    if (!key.toLowerCase().endsWith("-bin")) return this.#fields.getAll(key);
    return this.#fields.has(key) ? this.#fields.getAllBinary(key).map((bytes) => Buffer.from(bytes)) : [];
  }

  /** Returns the first value of each field. */
  getMap(): Record<string, MetadataValue> {
    return Object.fromEntries(Object.entries(this.toJSON()).map(([key, [first]]) => [key, first as MetadataValue]));
  }

  /** Replaces all values of a field. Throws a `TypeError` for an invalid name or value. */
  set(key: string, value: MetadataValue): void {
    this.#fields.set(key, value);
  }

  /** Adds a value to a field. Throws a `TypeError` for an invalid name or value. */
  add(key: string, value: MetadataValue): void {
    this.#fields.append(key, value);
  }

  /** Removes a field. */
  remove(key: string): void {
    this.#fields.delete(key);
  }

  /** Returns a copy. */
  clone(): GrpcMetadata {
    return new GrpcMetadata(this.#fields);
  }

  /** Adds all fields of other metadata. */
  merge(other: MetadataSource): void {
    this.#fields.appendAll(fieldsOf(other));
  }

  /** Returns all values by the names of their fields. */
  toJSON(): Record<string, MetadataValue[]> {
    return Object.fromEntries([...this.#fields].map(([key]) => [key, this.get(key)]));
  }
}
