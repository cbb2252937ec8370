/**
 * Memoizes decoded values by raw value and declared type.
 */
export class ValueMemo {
  readonly #results = new Map<object, Map<unknown, unknown>>();

  get(raw: object, as: unknown): unknown {
    return this.#results.get(raw)?.get(as);
  }

  set(raw: object, as: unknown, result: unknown): void {
    const known = this.#results.get(raw);
    if (known === undefined) this.#results.set(raw, new Map([[as, result]]));
    else known.set(as, result);
  }
}
