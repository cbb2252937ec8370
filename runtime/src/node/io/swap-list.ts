/**
 * Rosters: what comes and goes many times a second, and is seldom looked at as a whole.
 */

/** What is on a roster knows its place there. A new one may have any. */
export interface Member {
  place: number;
}

/**
 * Members in no order. Not a Set: one that members come to and go from is moved to new memory again and again, and what is
 * left behind refers to it. Once any of that is old, the garbage collector takes all members since for alive, and copies
 * them over and over.
 */
export class Roster<M extends Member> implements Iterable<M> {
  readonly #members: M[] = [];

  get size(): number {
    return this.#members.length;
  }

  add(member: M): void {
    member.place = this.#members.push(member) - 1;
  }

  /** Takes off what is there; one that is not stays away. */
  delete(member: M): void {
    if (!this.#has(member)) return;
    const last = this.#members.pop() as M;
    if (last === member) return;
    this.#members[member.place] = last;
    last.place = member.place;
  }

  /** Those who are there now, unless they leave before their turn. */
  *[Symbol.iterator](): Generator<M, void> {
    for (const member of [...this.#members]) if (this.#has(member)) yield member;
  }

  #has(member: M): boolean {
    return this.#members[member.place] === member;
  }
}
