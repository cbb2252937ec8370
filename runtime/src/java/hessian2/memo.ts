/**
 * Memoizes decoded values by raw value and declared type.
 */
export class ValueMemo {
  readonly #results = new Map<object, Map<unknown, unknown>>();

  get(piece: object, as: unknown): unknown {
    return this.#results.get(piece)?.get(as);
  }

  set(piece: object, as: unknown, result: unknown): void {
    const known = this.#results.get(piece);
    if (known === undefined) this.#results.set(piece, new Map([[as, result]]));
    else known.set(as, result);
  }
}
