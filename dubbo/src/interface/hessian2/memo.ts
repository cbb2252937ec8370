/**
 * Memoizes decoded values by raw value and declared type. Most containers are decoded for one type, so that a map inside of
 * the map is created only for a second type.
 */
export class ValueMemo {
  /** The first declared type of each raw value, and the result for it. */
  readonly #first = new Map<object, { readonly as: unknown; result: unknown }>();
  readonly #others = new Map<object, Map<unknown, unknown>>();

  get(raw: object, as: unknown): unknown {
    const first = this.#first.get(raw);
    return first === undefined || first.as === as ? first?.result : this.#others.get(raw)?.get(as);
  }

  set(raw: object, as: unknown, result: unknown): void {
    const first = this.#first.get(raw);
    if (first === undefined) this.#first.set(raw, { as, result });
    else if (first.as === as) first.result = result;
    else this.#others.set(raw, (this.#others.get(raw) ?? new Map()).set(as, result));
  }
}
