/**
 * Operations on keys of etcd, by path.
 */
import { Code, RpcError } from "triple-es";
import { Compare_CompareTarget as CompareTarget, type KeyValue } from "../../gen/etcd/rpc_pb.ts";
import { MAX_TRIES } from "../tree.ts";
import type { EtcdClient } from "./client.ts";

/** Keys in one answer: a list of all instances may be larger than a message. */
const PAGE_SIZE = 2_000n;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function encodeKey(path: string): Uint8Array {
  return encoder.encode(path);
}

export function decodeKey(key: Uint8Array): string {
  return decoder.decode(key);
}

/** Returns the end of the range of all keys below a path: the key before its last slash with the next character. */
export function rangeEnd(prefix: string): Uint8Array {
  const end = encodeKey(prefix);
  end[end.length - 1] = (end.at(-1) ?? 0) + 1;
  return end;
}

/** All keys of a range at one revision. */
export interface Snapshot {
  readonly kvs: readonly KeyValue[];
  readonly revision: bigint;
  readonly cluster: bigint;
}

export class Keys {
  readonly #client: EtcdClient;

  constructor(client: EtcdClient) {
    this.#client = client;
  }

  /** Reads a key, or with `end` the keys up to it, in pages of one revision. */
  async range(key: Uint8Array, end: Uint8Array | undefined, signal?: AbortSignal): Promise<Snapshot> {
    const kvs: KeyValue[] = [];
    let from = key;
    let revision = 0n;
    for (;;) {
      const request = { key: from, limit: PAGE_SIZE, revision, ...(end && { rangeEnd: end }) };
      const page = await this.#client.kv.range(request, { signal });
      kvs.push(...page.kvs);
      revision ||= page.header?.revision ?? 0n;
      const last = page.kvs.at(-1)?.key;
      if (!page.more || last === undefined) return { kvs, revision, cluster: page.header?.clusterId ?? 0n };
      // The next key after the last one.
      from = Uint8Array.from([...last, 0]);
    }
  }

  async get(path: string, signal?: AbortSignal): Promise<KeyValue | undefined> {
    return (await this.range(encodeKey(path), undefined, signal)).kvs[0];
  }

  async put(path: string, content: string, lease: bigint): Promise<void> {
    const value = { key: encodeKey(path), value: encodeKey(content), lease };
    await this.#client.kv.txn({ success: [{ request: { case: "requestPut", value } }] });
  }

  /** Removes a key if it belongs to the lease. */
  async removeOwned(path: string, lease: bigint): Promise<void> {
    const key = encodeKey(path);
    await this.#client.kv.txn({
      compare: [{ key, target: CompareTarget.LEASE, targetUnion: { case: "lease", value: lease } }],
      success: [{ request: { case: "requestDeleteRange", value: { key } } }],
    });
  }

  /** Changes a key without a lease by compare-and-set. */
  async change(path: string, change: (content: string | undefined) => string | undefined): Promise<void> {
    const key = encodeKey(path);
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const known = await this.get(path);
      const content = change(known && decodeKey(known.value));
      if (content === undefined) return;
      const revision = known?.modRevision ?? 0n;
      const { succeeded } = await this.#client.kv.txn({
        compare: [{ key, target: CompareTarget.MOD, targetUnion: { case: "modRevision", value: revision } }],
        success: [{ request: { case: "requestPut", value: { key, value: encodeKey(content) } } }],
      });
      if (succeeded) return;
    }
    throw new RpcError(Code.Aborted, `${path} is changed by others all the time`);
  }
}
