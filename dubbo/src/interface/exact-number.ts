/** Numbers with all their digits. */

/** Most digits accepted, because arithmetic on digits takes more than linear time. */
export const MAX_DIGITS = 10_000;

/** A number of JSON text that a JavaScript number cannot represent. It is not accepted for a string. */
export class ExactNumber {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}
