/**
 * Limits on the size and depth of one type. A contract that exceeds them is a mistake or an attack, and must not stop a
 * build.
 */
import { type JavaTypeModel, sizeOf } from "../model/java-type.ts";

/** Maximum depth of nested types, of chains of aliases, and of chains of classes that extend each other. */
export const MAX_DEPTH = 100;
/** Maximum number of types in a type after all aliases are resolved. */
const MAX_TYPES = 1_000;
const REMEDY = "declare parts of it as interfaces, with the tag @class";
const TOO_LARGE = `this is made of more than ${MAX_TYPES} types; ${REMEDY}`;

export class Nesting {
  readonly #depth: number;
  /** The number of types read so far inside the outermost type. */
  readonly #read: { types: number };

  private constructor(depth: number, read: { types: number }) {
    this.#depth = depth;
    this.#read = read;
  }

  /** Returns the nesting of a type inside another type; `undefined` stands for the nesting around an outermost type. */
  static inside(around: Nesting | undefined): Nesting {
    const nesting = around === undefined ? new Nesting(1, { types: 0 }) : new Nesting(around.#depth + 1, around.#read);
    nesting.#read.types += 1;
    return nesting;
  }

  /** True if a limit is exceeded, so that reading stops. */
  get isTooMuch(): boolean {
    return this.#depth > MAX_DEPTH || this.#read.types > MAX_TYPES;
  }

  /**
   * The error message if a limit is exceeded. The error about the size is returned once, by the first type beyond the
   * limit.
   */
  get objection(): string | undefined {
    if (this.#depth > MAX_DEPTH) return `more than ${MAX_DEPTH} types are nested here; ${REMEDY}`;
    return this.#read.types === MAX_TYPES + 1 ? TOO_LARGE : undefined;
  }

  /**
   * Returns the error message for a type that was read. Its type arguments may contain many types, although each
   * argument is read once.
   */
  static objectionTo(type: JavaTypeModel): string | undefined {
    return sizeOf(type) > MAX_TYPES ? TOO_LARGE : undefined;
  }
}
