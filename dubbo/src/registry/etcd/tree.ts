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

type Report = (entries: ReadonlyMap<string, string>) => void;

export function createEtcdTree(client: EtcdClient, ttlMs: number): Tree {
  const leases = new LeaseHolder(client, ttlMs);
  const follow = (path: string, end: Uint8Array | undefined, report: Report, signal: AbortSignal): Promise<void> =>
    followRange(client, encodeKey(path), end, report, signal);

  /** Follows the entries directly below a path. Names are those after the path. */
  function followBelow(path: string, report: Report, signal: AbortSignal): Promise<void> {
    const prefix = `${path}/`;
    const reportBelow: Report = (entries) => {
      const below = [...entries].map(([key, content]) => [key.slice(prefix.length), content] as const);
      report(new Map(below.filter(([name]) => name !== "" && !name.includes("/"))));
    };
    return follow(prefix, rangeEnd(prefix), reportBelow, signal);
  }

  return {
    name: "etcd",
    hasConsoles: false,
    watchNames: (path, watcher) =>
      startWatch(watcher, (report, signal) => followBelow(path, (entries) => report([...entries.keys()]), signal)),
    watchContents: (path, watcher) => startWatch(watcher, (report, signal) => followBelow(path, report, signal)),
    watchContent: (path, watcher) =>
      startWatch(watcher, (report, signal) => follow(path, undefined, (entries) => report(entries.get(path)), signal)),
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

/**
 * Follows one key, or a range up to `end`: reports the entries, first and after each change, until the signal fires. Throws if the
 * cluster is unreachable.
 */
async function followRange(
  client: EtcdClient,
  key: Uint8Array,
  end: Uint8Array | undefined,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  /** Yields after each answer of one stream: whether the entries are current, or must be read anew. */
  async function* changesOf(entries: Map<string, string>, known: Snapshot): AsyncGenerator<boolean, void> {
    const create = { key, startRevision: known.revision + 1n, progressNotify: true, ...(end && { rangeEnd: end }) };
    async function* requests() {
      yield { requestUnion: { case: "createRequest" as const, value: create } };
      // The stream stays open until the call ends. A callback of the signal would stay in memory until the watch ends.
      await new Promise(() => {});
    }
    for await (const answer of client.watch.watch(requests(), { signal })) {
      const { header, created, canceled, compactRevision, cancelReason, events } = answer;
      const revision = header?.revision ?? 0n;
      if (canceled && compactRevision === 0n)
        throw new RpcError(Code.FailedPrecondition, `the watch was refused: ${cancelReason}`);
      if (canceled || header?.clusterId !== known.cluster || (created && revision < known.revision)) {
        yield false;
        return;
      }
      for (const { type, kv } of events) {
        if (kv === undefined) continue;
        const name = decodeKey(kv.key);
        if (type === EventType.DELETE) entries.delete(name);
        else entries.set(name, decodeKey(kv.value));
      }
      // The header of each batch of a long history has the latest revision, also if other batches follow.
      const last = events.at(-1)?.kv?.modRevision ?? revision;
      if (!created && last > known.revision) known.revision = last;
      if (events.length > 0) report(entries);
      if (signal.aborted) throw abortError(signal);
      yield true;
    }
    throw new RpcError(Code.Unavailable, "the server has ended the watch");
  }

  while (!signal.aborted) {
    const snapshot = await client.range(key, end, signal);
    const entries = new Map(snapshot.kvs.map((one) => [decodeKey(one.key), decodeKey(one.value)]));
    report(entries);
    let failingSince: number | undefined;
    for (let isCurrent = true; isCurrent; ) {
      try {
        for await (isCurrent of changesOf(entries, snapshot)) failingSince = undefined;
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
}
