/**
 * The keys of etcd as a tree of entries. A watch reads a snapshot, and then follows the changes after its revision.
 *
 *     stream lost     the watch continues after the last revision; after some seconds without success it fails
 *     compacted       the revision is too old: the watch begins with a new snapshot
 *     other cluster   or an earlier revision than the last one: the data were lost, and the watch begins anew
 */
import { Code, RpcError } from "triple-es";
import { abortError, delayInBackground, now } from "triple-es/internal";
import { Event_EventType as EventType } from "../../gen/etcd/rpc_pb.ts";
import type { Tree } from "../tree.ts";
import { startWatch } from "../watch.ts";
import { decodeKey, type EtcdClient, encodeKey, rangeEnd, type Snapshot } from "./client.ts";
import { LeaseHolder } from "./lease.ts";

/** Time for which a watch tries to continue after its stream was lost, in milliseconds. */
const RESUME_MS = 5_000;
/** Time between these attempts, in milliseconds. */
const RESUME_INTERVAL_MS = 200;

export function createEtcdTree(client: EtcdClient, ttlMs: number): Tree {
  const leases = new LeaseHolder(client, ttlMs);

  /** Follows the entries directly below a path. Names are those after the path. */
  function followBelow(
    path: string,
    report: (entries: ReadonlyMap<string, string>) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const prefix = `${path}/`;
    return new RangeWatch(client, encodeKey(prefix), rangeEnd(prefix)).follow((entries) => {
      const below = [...entries].map(([key, content]) => [key.slice(prefix.length), content] as const);
      report(new Map(below.filter(([name]) => name !== "" && !name.includes("/"))));
    }, signal);
  }

  return {
    name: "etcd",
    hasConsoles: false,
    watchNames: (path, watcher) =>
      startWatch(watcher, (report, signal) => followBelow(path, (entries) => report([...entries.keys()]), signal)),
    watchContents: (path, watcher) => startWatch(watcher, (report, signal) => followBelow(path, report, signal)),
    watchContent: (path, watcher) =>
      startWatch(watcher, (report, signal) =>
        new RangeWatch(client, encodeKey(path), undefined).follow((entries) => report(entries.get(path)), signal),
      ),
    read: async (path, signal) => {
      const found = await client.get(path, signal);
      return found && decodeKey(found.value);
    },
    change: (path, change) => client.change(path, change),
    session: (signal) => leases.session(signal),
    async close() {
      await leases.close();
      await client.close();
    },
  };
}

type Report = (entries: ReadonlyMap<string, string>) => void;

/** The watch of one key or range. */
class RangeWatch {
  readonly #client: EtcdClient;
  readonly #key: Uint8Array;
  readonly #end: Uint8Array | undefined;
  #entries = new Map<string, string>();
  #revision = 0n;
  #cluster = 0n;

  constructor(client: EtcdClient, key: Uint8Array, end: Uint8Array | undefined) {
    this.#client = client;
    this.#key = key;
    this.#end = end;
  }

  /** Reports the entries, first and after each change, until the signal fires. Throws if the cluster is unreachable. */
  async follow(report: Report, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#restore(await this.#client.range(this.#key, this.#end, signal));
      report(this.#entries);
      await this.#followChanges(report, signal);
    }
  }

  #restore({ kvs, revision, cluster }: Snapshot): void {
    this.#entries = new Map(kvs.map(({ key, value }) => [decodeKey(key), decodeKey(value)]));
    this.#revision = revision;
    this.#cluster = cluster;
  }

  /** Applies changes. Returns when a new snapshot is needed. */
  async #followChanges(report: Report, signal: AbortSignal): Promise<void> {
    let failingSince: number | undefined;
    for (;;) {
      try {
        for await (const isCurrent of this.#changes(report, signal)) {
          if (!isCurrent) return;
          failingSince = undefined;
        }
        throw new RpcError(Code.Unavailable, "the server has ended the watch");
      } catch (reason) {
        if (signal.aborted) return;
        failingSince ??= now();
        const { code } = RpcError.from(reason);
        const mayResume = code === Code.Unavailable || code === Code.Unauthenticated || code === Code.Internal;
        if (!mayResume || now() - failingSince > RESUME_MS) throw reason;
        await delayInBackground(RESUME_INTERVAL_MS, signal);
      }
    }
  }

  /** Yields after each answer of one stream: whether the entries are current, or must be read anew. */
  async *#changes(report: Report, signal: AbortSignal): AsyncGenerator<boolean, void> {
    const end = this.#end;
    const create = {
      key: this.#key,
      startRevision: this.#revision + 1n,
      progressNotify: true,
      ...(end && { rangeEnd: end }),
    };
    async function* requests() {
      yield { requestUnion: { case: "createRequest" as const, value: create } };
      // The stream stays open until the call ends. A callback of the signal would stay in memory until the watch ends.
      await new Promise(() => {});
    }
    for await (const answer of this.#client.watch.watch(requests(), { signal })) {
      const { header, created, canceled, compactRevision, cancelReason, events } = answer;
      const revision = header?.revision ?? 0n;
      if (canceled) {
        if (compactRevision === 0n)
          throw new RpcError(Code.FailedPrecondition, `the watch was refused: ${cancelReason}`);
        yield false;
        return;
      }
      if (header?.clusterId !== this.#cluster || (created && revision < this.#revision)) {
        yield false;
        return;
      }
      for (const { type, kv } of events) {
        if (kv === undefined) continue;
        const key = decodeKey(kv.key);
        if (type === EventType.DELETE) this.#entries.delete(key);
        else this.#entries.set(key, decodeKey(kv.value));
      }
      // The header of each batch of a long history has the latest revision, also if other batches follow.
      const last = events.at(-1)?.kv?.modRevision ?? revision;
      if (!created && last > this.#revision) this.#revision = last;
      if (events.length > 0) report(this.#entries);
      if (signal.aborted) throw abortError(signal);
      yield true;
    }
  }
}
