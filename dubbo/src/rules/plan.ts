/**
 * Plans: the rules of a service, applied to a list of endpoints. A plan is a tree that grows while it is used: each node has the
 * endpoints that the rules before have left and the next rule that depends on the request, and each branch an outcome of
 * that rule. A request that differs from an earlier one in no outcome reads what was computed for it.
 */
import {
  type Candidate,
  type Destination,
  type Parameters,
  type Rule,
  type RuleRequest,
  type Stage,
  to,
} from "./subject.ts";

/** The maximum number of branches, and more for each rule. Then a plan begins anew: tags may come from other processes. */
const MAX_BRANCHES = 1_000;
const BRANCHES_PER_RULE = 4;

/** The end of a plan, or a rule that depends on the request. */
interface Node<T> {
  readonly candidates: readonly Candidate[];
  readonly position: number;
  readonly branches: Map<string | boolean, Branch<T>>;
  readonly end?: { readonly result: T };
}

/** The nodes for one outcome of a rule, of which a call draws one by weight. */
interface Branch<T> {
  readonly nodes: readonly Node<T>[];
  /** The sums of the weights of the nodes up to each of them. */
  readonly sums: readonly number[];
}

export class Plan<T> {
  readonly #stages: readonly Stage[];
  readonly #finish: (candidates: readonly Candidate[]) => T;
  readonly #random: () => number;
  readonly #all: readonly Candidate[];
  #nodes = new Map<string, Node<T>>();
  #branches = 0;
  #root: Branch<T>;

  /** `finish` makes the result for the endpoints that all rules have left. It is called once for each list of them. */
  constructor(
    rules: readonly Rule[],
    consumer: Parameters,
    candidates: readonly Candidate[],
    finish: (candidates: readonly Candidate[]) => T,
    random: () => number,
  ) {
    this.#stages = rules.flatMap((rule) => rule(consumer, candidates));
    this.#finish = finish;
    this.#random = random;
    this.#all = candidates;
    this.#root = this.#branch(to(candidates), 0);
  }

  /** Returns the result for a request. */
  choose(request: RuleRequest): T {
    let node = this.#draw(this.#root);
    while (node.end === undefined) {
      const outcome = this.#stages[node.position]?.outcomeOf?.(request) ?? "";
      node = this.#draw(node.branches.get(outcome) ?? this.#grow(node, outcome));
    }
    return node.end.result;
  }

  #draw({ nodes, sums }: Branch<T>): Node<T> {
    if (nodes.length === 1) return nodes[0] as Node<T>;
    const point = this.#random() * (sums.at(-1) as number);
    let index = 0;
    while (point >= (sums[index] as number)) index++;
    return nodes[index] as Node<T>;
  }

  #grow(fork: Node<T>, outcome: string | boolean): Branch<T> {
    if (this.#branches++ >= MAX_BRANCHES + BRANCHES_PER_RULE * this.#stages.length) {
      this.#branches = 0;
      this.#nodes = new Map();
      this.#root = this.#branch(to(this.#all), 0);
    }
    const stage = this.#stages[fork.position] as Stage;
    const branch = this.#branch(stage.route(fork.candidates, outcome), fork.position + 1);
    fork.branches.set(outcome, branch);
    return branch;
  }

  #branch(destinations: readonly Destination[], position: number): Branch<T> {
    let sum = 0;
    return {
      nodes: destinations.map(({ candidates }) => this.#node(candidates, position)),
      sums: destinations.map(({ weight }) => (sum += weight)),
    };
  }

  /** Returns the node of endpoints before a rule. Rules that do not depend on the request are applied at once. */
  #node(given: readonly Candidate[], from: number): Node<T> {
    let candidates = given;
    let position = from;
    for (; position < this.#stages.length && candidates.length > 0; position++) {
      const { outcomeOf, route } = this.#stages[position] as Stage;
      if (outcomeOf !== undefined) break;
      const destinations = route(candidates, "");
      if (destinations.length > 1) break;
      candidates = destinations[0]?.candidates ?? [];
    }
    if (candidates.length === 0) position = this.#stages.length;
    const key = `${position}:${candidates.map(({ index }) => index).join()}`;
    const known = this.#nodes.get(key);
    if (known !== undefined) return known;
    const end = position === this.#stages.length ? { end: { result: this.#finish(candidates) } } : {};
    const node: Node<T> = { candidates, position, branches: new Map(), ...end };
    this.#nodes.set(key, node);
    return node;
  }
}
