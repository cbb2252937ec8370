/**
 * What the bytes of Hessian 2 say before anybody has declared what they should be: inert data. Names of classes are words
 * here; nothing is looked up or made by them.
 */

/** A value as it travels: int and double are numbers, long is a bigint. */
export type RawValue = null | boolean | number | bigint | string | Uint8Array | Date | RawList | RawMap | RawObject;

/** A list. Its type says what Java had: nothing for an `ArrayList`, `[int` for an array. */
export class RawList {
  readonly type: string | undefined;
  readonly items: RawValue[] = [];

  constructor(type: string | undefined) {
    this.type = type;
  }
}

/** A map. Peers that do not have the class of an object send its fields as a map of that type. */
export class RawMap {
  readonly type: string | undefined;
  readonly entries: [key: RawValue, value: RawValue][] = [];

  constructor(type: string | undefined) {
    this.type = type;
  }
}

/** What the objects of a class have in common. */
export interface ClassDefinition {
  readonly name: string;
  readonly fields: readonly string[];
}

/** An object: values in the order of the fields of its class. */
export class RawObject {
  readonly definition: ClassDefinition;
  readonly values: RawValue[] = [];

  constructor(definition: ClassDefinition) {
    this.definition = definition;
  }

  /** The value of a field; `undefined` if the class does not have it. */
  get(field: string): RawValue | undefined {
    const index = this.definition.fields.indexOf(field);
    return index < 0 ? undefined : this.values[index];
  }
}

/** What data may make of the memory and the stack of whoever reads it. */
export interface Hessian2Limits {
  /** How deep lists, maps and objects may be inside each other. Default: 200. */
  readonly maxDepth?: number;
  /** How many values there may be altogether. Default: 1,000,000. */
  readonly maxValues?: number;
  /** How many of them may be lists, maps and objects. Default: 250,000. */
  readonly maxContainers?: number;
  /** How many classes may be defined. Default: 1,000. */
  readonly maxClasses?: number;
}

export const DEFAULT_LIMITS: Required<Hessian2Limits> = {
  maxDepth: 200,
  maxValues: 1_000_000,
  maxContainers: 250_000,
  maxClasses: 1_000,
};
