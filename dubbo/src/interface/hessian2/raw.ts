/**
 * Raw data of Hessian 2, before a declared type is applied. Class names are plain text here: they are not used to look up or
 * instantiate a class.
 */
import { DEFAULT_MAX_BYTES } from "../cost.ts";

/** A value on the wire: int and double are numbers, long is a bigint. */
export type RawValue = null | boolean | number | bigint | string | Uint8Array | Date | RawList | RawMap | RawObject;

/** A list. Its type is absent for an `ArrayList`, and `[int` for an array of `int`. */
export class RawList {
  readonly type: string | undefined;
  readonly items: RawValue[] = [];

  constructor(type: string | undefined) {
    this.type = type;
  }
}

/**
 * A map. A peer that does not have the class of an object sends the fields of the object as a map with the name of that
 * class.
 */
export class RawMap {
  readonly type: string | undefined;
  /** Keys and values, alternately: one array takes less memory than two. */
  readonly entries: RawValue[] = [];

  constructor(type: string | undefined) {
    this.type = type;
  }

  /** Returns the value of a text key; `undefined` if the map does not have it. */
  get(name: string): RawValue | undefined {
    for (let i = 0; i < this.entries.length; i += 2) if (this.entries[i] === name) return this.entries[i + 1];
    return undefined;
  }
}

export class ClassDefinition {
  readonly name: string;
  readonly fields: readonly string[];
  /** The index of each field. A class and its base class may have fields with the same name; Java uses the last of them. */
  readonly places: ReadonlyMap<string, number>;

  constructor(name: string, fields: readonly string[]) {
    this.name = name;
    this.fields = fields;
    this.places = new Map(fields.map((field, index) => [field, index]));
  }
}

/** An object: values in the order of the fields of its class. */
export class RawObject {
  readonly definition: ClassDefinition;
  readonly values: RawValue[] = [];

  constructor(definition: ClassDefinition) {
    this.definition = definition;
  }

  /** Returns the value of a field; `undefined` if the class does not have it. */
  get(field: string): RawValue | undefined {
    const index = this.definition.places.get(field);
    return index === undefined ? undefined : this.values[index];
  }
}

/** Limits on data for its reader or writer, besides the option `maxMessageValues`. */
export interface Hessian2Limits {
  /** Deepest nesting of lists, maps and objects. Default: 200. */
  readonly maxDepth?: number | undefined;
  /** Most class definitions. Default: 1,000. */
  readonly maxClasses?: number | undefined;
  /** Most bytes written for a message, before compression. Default: 64 MiB. */
  readonly maxBytes?: number | undefined;
}

export type ResolvedHessian2Limits = Readonly<Record<keyof Hessian2Limits, number>>;

export const DEFAULT_HESSIAN2_LIMITS: ResolvedHessian2Limits = {
  maxDepth: 200,
  maxClasses: 1_000,
  maxBytes: DEFAULT_MAX_BYTES,
};
