/**
 * The watches of a ZooKeeper session. A watch reports one event, then it is over. The server has three tables, by the request
 * that set the watch: data, existence of a node that is not there, children.
 */
import { Change, type NodeEvent } from "./protocol.ts";

export type WatchKind = "data" | "exist" | "child";

/** The kinds of watch that a change ends. */
const ENDED_BY: Readonly<Record<number, readonly WatchKind[]>> = {
  [Change.Created]: ["data", "exist"],
  [Change.Deleted]: ["data", "exist", "child"],
  [Change.Data]: ["data", "exist"],
  [Change.Children]: ["child"],
};

/** The size of one request that sets watches again, in characters: servers refuse requests of more than 1 MiB. */
const BATCH_LENGTH = 128 * 1024;

export type WatchBatch = Readonly<Record<WatchKind, string[]>>;

export class Watches {
  readonly #callbacks: Readonly<Record<WatchKind, Map<string, Set<() => void>>>> = {
    data: new Map(),
    exist: new Map(),
    child: new Map(),
  };

  add(kind: WatchKind, path: string, callback: () => void): void {
    const paths = this.#callbacks[kind];
    paths.set(path, (paths.get(path) ?? new Set()).add(callback));
  }

  /** Removes a callback that is no longer needed. The server's watch stays, and its event is ignored. */
  remove(callback: () => void, path: string): void {
    for (const paths of Object.values(this.#callbacks)) {
      const known = paths.get(path);
      if (known?.delete(callback) && known.size === 0) paths.delete(path);
    }
  }

  fire({ type, path }: NodeEvent): void {
    for (const kind of ENDED_BY[type] ?? []) {
      const callbacks = this.#callbacks[kind].get(path);
      this.#callbacks[kind].delete(path);
      for (const callback of callbacks ?? []) callback();
    }
  }

  /** Ends all watches: a new session has none. */
  fireAll(): void {
    for (const paths of Object.values(this.#callbacks)) {
      const all = [...paths.values()];
      paths.clear();
      for (const callbacks of all) for (const callback of callbacks) callback();
    }
  }

  /** Returns all watches, in requests of a limited size. */
  batches(): WatchBatch[] {
    const batches: WatchBatch[] = [];
    let length = Number.POSITIVE_INFINITY;
    for (const [kind, paths] of Object.entries(this.#callbacks) as [WatchKind, Map<string, unknown>][]) {
      for (const path of paths.keys()) {
        length += path.length;
        if (length > BATCH_LENGTH) {
          batches.push({ data: [], exist: [], child: [] });
          length = path.length;
        }
        batches.at(-1)?.[kind].push(path);
      }
    }
    return batches;
  }
}
