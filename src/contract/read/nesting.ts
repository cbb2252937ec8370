/** Limits on the size and depth of one type. A contract beyond them is a mistake or an attack, and must not stop a build. */
import { type JavaTypeModel, sizeOf } from "../model/java-type.ts";

/** Maximum depth of nested types, of aliases of aliases, and of classes that extend classes. */
export const DEEPEST = 100;
/** Maximum number of types in a type, with all aliases followed. */
const LARGEST = 1_000;

export class Nesting {
  readonly #depth: number;
  /** The number of types read so far inside the outermost one. */
  readonly #read: { types: number };

  private constructor(depth: number, read: { types: number }) {
    this.#depth = depth;
    this.#read = read;
  }

  /** The nesting of a type inside another one; `undefined` stands for the nesting around an outermost type. */
  static inside(around: Nesting | undefined): Nesting {
    const nesting = around === undefined ? new Nesting(1, { types: 0 }) : new Nesting(around.#depth + 1, around.#read);
    nesting.#read.types += 1;
    return nesting;
  }

  /** True if a limit has been exceeded, so that reading stops here. */
  get isTooMuch(): boolean {
    return this.#depth > DEEPEST || this.#read.types > LARGEST;
  }

  /** The error message, reported once for each type. */
  get objection(): string | undefined {
    if (this.#depth > DEEPEST) return `more than ${DEEPEST} types are nested here; ${REMEDY}`;
    return this.#read.types === LARGEST + 1 ? TOO_LARGE : undefined;
  }

  /** The error message for a type that was read; type arguments may contain many types but are read once. */
  static objectionTo(type: JavaTypeModel): string | undefined {
    return sizeOf(type) > LARGEST ? TOO_LARGE : undefined;
  }
}

const REMEDY = "declare parts of it as interfaces, with the tag @class";
const TOO_LARGE = `this is made of more than ${LARGEST} types; ${REMEDY}`;
