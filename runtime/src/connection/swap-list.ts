/**
 * An unordered list with O(1) add and remove: each member stores its index, and removal swaps in the last one.
 */

/** A member of a list, which stores its index. A new member may have any index. */
export interface Indexed {
  index: number;
}

/**
 * Used instead of a `Set`, which moves its members to a new table again and again. An abandoned table in the old generation
 * keeps all later members reachable until a major collection, and minor collections copy them repeatedly.
 */
export class SwapList<M extends Indexed> implements Iterable<M> {
  readonly #members: M[] = [];

  get size(): number {
    return this.#members.length;
  }

  at(index: number): M | undefined {
    return this.#members[index];
  }

  add(member: M): void {
    member.index = this.#members.push(member) - 1;
  }

  /** Removes a member; does nothing if it is not in the list. */
  delete(member: M): void {
    if (this.#members[member.index] !== member) return;
    const last = this.#members.pop() as M;
    if (last === member) return;
    this.#members[member.index] = last;
    last.index = member.index;
  }

  /** Iterates over a copy; skips members that have been removed in the meantime. */
  *[Symbol.iterator](): Generator<M, void> {
    for (const member of [...this.#members]) if (this.#members[member.index] === member) yield member;
  }
}
