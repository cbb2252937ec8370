/**
 * The client of an etcd cluster: stubs that our plugin has generated from etcd's API, on one connection, the token of a user, and
 * operations on keys by path.
 */
import { type ClosableTransport, Code, type Interceptor, RpcError } from "triple-es";
import { Compare_CompareTarget as CompareTarget, type KeyValue } from "../../gen/etcd/rpc_pb.ts";
import {
  type AuthClient,
  createAuthClient,
  createKVClient,
  createLeaseClient,
  createWatchClient,
  type KVClient,
  type LeaseClient,
  type WatchClient,
} from "../../gen/etcd/rpc_triple.ts";
import type { Credentials } from "../servers.ts";
import { MAX_TRIES } from "../tree.ts";

/** Time limit of a request, in milliseconds. */
export const ETCD_TIMEOUT_MS = 5_000;
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
  revision: bigint;
  readonly cluster: bigint;
}

export class EtcdClient {
  readonly watch: WatchClient;
  readonly lease: LeaseClient;
  readonly close: () => Promise<void>;
  readonly #kv: KVClient;

  /** `connect` makes a transport to the cluster with an interceptor. */
  constructor(
    connect: (interceptors: readonly Interceptor[]) => ClosableTransport,
    credentials: Credentials | undefined,
  ) {
    const transport: ClosableTransport = connect(
      credentials === undefined ? [] : [withToken(() => createAuthClient(transport), credentials)],
    );
    this.#kv = createKVClient(transport, { timeoutMs: ETCD_TIMEOUT_MS });
    this.watch = createWatchClient(transport);
    this.lease = createLeaseClient(transport);
    this.close = () => transport.close({ graceMs: 0 });
  }

  /** Reads a key, or with `end` the keys up to it, in pages of one revision. */
  async range(key: Uint8Array, end: Uint8Array | undefined, signal?: AbortSignal): Promise<Snapshot> {
    const kvs: KeyValue[] = [];
    let from = key;
    let revision = 0n;
    for (;;) {
      const request = { key: from, limit: PAGE_SIZE, revision, ...(end && { rangeEnd: end }) };
      const page = await this.#kv.range(request, { signal });
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
    await this.#kv.txn({ success: [{ request: { case: "requestPut", value } }] });
  }

  /** Removes a key if it belongs to the lease. */
  async removeOwned(path: string, lease: bigint): Promise<void> {
    const key = encodeKey(path);
    await this.#kv.txn({
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
      const { succeeded } = await this.#kv.txn({
        compare: [{ key, target: CompareTarget.MOD, targetUnion: { case: "modRevision", value: revision } }],
        success: [{ request: { case: "requestPut", value: { key, value: encodeKey(content) } } }],
      });
      if (succeeded) return;
    }
    throw new RpcError(Code.Aborted, `${path} is changed by others all the time`);
  }
}

/** Sends the token of a user with every call. A token that the cluster does not accept any more is replaced. */
function withToken(auth: () => AuthClient, credentials: Credentials): Interceptor {
  let token: Promise<string> | undefined;

  async function authenticate(): Promise<string> {
    const { username: name, password } = credentials;
    return (await auth().authenticate({ name, password }, { timeoutMs: ETCD_TIMEOUT_MS })).token;
  }

  function forget(used: Promise<string>): void {
    if (token === used) token = undefined;
  }

  return (next) => async (request) => {
    if (request.method.name === "Authenticate") return next(request);
    for (let attempts = 1; ; attempts++) {
      token ??= authenticate();
      const used = token;
      used.catch(() => forget(used));
      request.headers.set("token", await used);
      try {
        return await next(request);
      } catch (reason) {
        if (RpcError.from(reason).code !== Code.Unauthenticated) throw reason;
        forget(used);
        if (request.stream || attempts > 1) throw reason;
      }
    }
  };
}
