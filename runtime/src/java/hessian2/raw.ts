/**
 * What the bytes of Hessian 2 say before anybody has declared what they should be: inert data. Names of classes are words
 * here; nothing is looked up or made by them.
 */

import type { CostLimits } from "../cost.ts";

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
export class ClassDefinition {
  readonly name: string;
  readonly fields: readonly string[];
  /** Where the value of each field is. Of two with one name, as a class and its base may have them, Java takes the last. */
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

  /** The value of a field; `undefined` if the class does not have it. */
  get(field: string): RawValue | undefined {
    const index = this.definition.places.get(field);
    return index === undefined ? undefined : this.values[index];
  }
}

/** What data may make of the memory and the stack of whoever reads or writes it. All arguments of a call count together. */
export interface Hessian2Limits extends CostLimits {
  /** How deep lists, maps and objects may be inside each other. Default: 200. */
  readonly maxDepth?: number | undefined;
  /** How many classes may be defined. Default: 1,000. */
  readonly maxClasses?: number | undefined;
}

export const DEFAULT_LIMITS = {
  maxDepth: 200,
  maxClasses: 1_000,
};
