/**
 * A model of an etcd cluster: keys with revisions, leases and watches, served by our own server. All members share one state.
 * Leases do not end while no member is up.
 */
import type { HandlerContext } from "triple-es";
import type { Server } from "triple-es/node";
import type {
  Compare,
  LeaseKeepAliveRequest,
  RangeRequest,
  TxnRequest,
  WatchCreateRequest,
  WatchRequest,
} from "../../dubbo/src/gen/etcd/rpc_pb.ts";
import { Event_EventType as EventType } from "../../dubbo/src/gen/etcd/rpc_pb.ts";
import type {
  LeaseKeepAliveResponseInit,
  RangeResponseInit,
  WatchResponseInit,
} from "../../dubbo/src/gen/etcd/rpc_triple.ts";
import type { Product } from "./bundle.ts";
import { memberAddress, type RegistryModel } from "./registry-model.ts";
import type { World } from "./world.ts";

const UNAVAILABLE = 14;
const NOT_FOUND = 5;
/** The targets of comparisons that the runtime uses. */
const MOD = 2;
const LEASE = 4;

/** Changes in one answer to a watch, 1,000 in etcd. The header of each answer has the latest revision, as in etcd. */
const MAX_BATCH = 3;

type EventInit = Exclude<NonNullable<WatchResponseInit["events"]>[number], { readonly $typeName: string }>;

interface KeyValue {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  readonly createRevision: bigint;
  readonly modRevision: bigint;
  readonly lease: bigint;
}

interface Change {
  readonly key: string;
  readonly revision: bigint;
  /** `undefined` if the key was deleted. */
  readonly kv: KeyValue | undefined;
}

interface Lease {
  readonly ttlMs: number;
  renewedAt: number;
}

export class EtcdModel implements RegistryModel {
  readonly port = 2379;
  readonly #product: Product;
  readonly #world: World;
  readonly #onChange: () => void;
  readonly #servers = new Map<number, Server>();
  readonly #keys = new Map<string, KeyValue>();
  readonly #leases = new Map<bigint, Lease>();
  #history: Change[] = [];
  #compacted = 0n;
  #revision = 1n;
  #cluster = 1n;
  #nextLease = 1n;
  #failing = 0;
  #watchers = new Set<() => void>();

  constructor(product: Product, world: World, onChange: () => void) {
    this.#product = product;
    this.#world = world;
    this.#onChange = onChange;
  }

  async start(member: number): Promise<void> {
    if (this.#servers.has(member)) return;
    if (this.#servers.size === 0) for (const lease of this.#leases.values()) lease.renewedAt = this.#world.now;
    const { createServer, KVDef, LeaseDef, WatchDef } = this.#product;
    const server = createServer();
    this.#servers.set(member, server);
    server.add(KVDef, {
      range: (request) => this.#reply(() => this.#range(request)),
      txn: (request) => this.#reply(() => this.#transact(request)),
    });
    server.add(LeaseDef, {
      leaseGrant: ({ TTL }) => this.#reply(() => this.#grant(TTL)),
      leaseRevoke: ({ ID }) => this.#reply(() => this.#revoke(ID)),
      leaseKeepAlive: (requests) => this.#keepAlive(requests),
    });
    server.add(WatchDef, { watch: (requests, context) => this.#watch(requests, context) });
    await server.listen({ host: memberAddress(member), port: this.port });
  }

  async stop(member: number): Promise<void> {
    const server = this.#servers.get(member);
    this.#servers.delete(member);
    await server?.close({ graceMs: 0 });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#servers.keys()].map((member) => this.stop(member)));
  }

  paths(): Iterable<string> {
    return this.#keys.keys();
  }

  loseData(): void {
    this.#keys.clear();
    this.#leases.clear();
    this.#history = [];
    this.#compacted = 0n;
    this.#revision = 1n;
    this.#cluster++;
    this.#onChange();
  }

  expire(): void {
    for (const lease of [...this.#leases.keys()]) this.#revoke(lease);
  }

  compact(): void {
    this.#compacted = this.#revision;
    this.#history = this.#history.filter(({ revision }) => revision >= this.#compacted);
  }

  /** Makes the next replies fail, after their requests were carried out, as when the leader changes. */
  malform(replies: number): void {
    this.#failing = replies;
  }

  get #header() {
    return { clusterId: this.#cluster, memberId: 1n, revision: this.#revision };
  }

  #reply<T extends object>(run: () => T) {
    const reply = { ...run(), header: this.#header };
    if (this.#failing === 0) return reply;
    this.#failing--;
    throw new this.#product.RpcError(UNAVAILABLE, "etcdserver: request timed out, possibly due to connection lost");
  }

  #range(request: RangeRequest): RangeResponseInit {
    const isIn = rangeOf(request);
    const kvs = [...this.#keys].filter(([key]) => isIn(key)).map(([, kv]) => kv);
    return { kvs, count: BigInt(kvs.length) };
  }

  #transact({ compare, success }: TxnRequest) {
    const succeeded = compare.every((one) => this.#holds(one));
    if (!succeeded) return { succeeded };
    const revision = this.#revision + 1n;
    for (const { request } of success) {
      const key = decode((request.value as { readonly key: Uint8Array }).key);
      if (request.case === "requestDeleteRange") this.#set(key, revision, undefined);
      if (request.case !== "requestPut") continue;
      const { lease, value } = request.value;
      if (lease !== 0n && !this.#leases.has(lease)) {
        throw new this.#product.RpcError(NOT_FOUND, "etcdserver: requested lease not found");
      }
      const createRevision = this.#keys.get(key)?.createRevision ?? revision;
      this.#set(key, revision, { key: request.value.key, value, lease, createRevision, modRevision: revision });
    }
    return { succeeded };
  }

  #holds({ key, target, targetUnion }: Compare): boolean {
    const kv = this.#keys.get(decode(key));
    if (target === MOD) return (kv?.modRevision ?? 0n) === targetUnion.value;
    if (target === LEASE) return kv !== undefined && kv.lease === targetUnion.value;
    throw new Error(`the model does not compare the target ${target}`);
  }

  #set(key: string, revision: bigint, kv: KeyValue | undefined): void {
    if (kv === undefined && !this.#keys.delete(key)) return;
    if (kv !== undefined) this.#keys.set(key, kv);
    this.#revision = revision;
    this.#history.push({ key, revision, kv });
    for (const wake of [...this.#watchers]) wake();
    this.#onChange();
  }

  #grant(TTL: bigint) {
    const ID = this.#nextLease++;
    const lease: Lease = { ttlMs: Number(TTL) * 1_000, renewedAt: this.#world.now };
    this.#leases.set(ID, lease);
    const check = (): void => {
      if (this.#leases.get(ID) !== lease) return;
      if (this.#servers.size === 0) lease.renewedAt = this.#world.now;
      const left = lease.renewedAt + lease.ttlMs - this.#world.now;
      if (left > 0) this.#world.after(left, check);
      else {
        this.#world.note("expire", `lease ${ID}`);
        this.#revoke(ID);
      }
    };
    this.#world.after(lease.ttlMs, check);
    return { ID, TTL };
  }

  #revoke(ID: bigint): object {
    this.#leases.delete(ID);
    const revision = this.#revision + 1n;
    for (const [key, { lease }] of [...this.#keys]) if (lease === ID) this.#set(key, revision, undefined);
    return {};
  }

  async *#keepAlive(requests: AsyncIterable<LeaseKeepAliveRequest>): AsyncIterable<LeaseKeepAliveResponseInit> {
    for await (const { ID } of requests) {
      const lease = this.#leases.get(ID);
      if (lease !== undefined) lease.renewedAt = this.#world.now;
      yield { header: this.#header, ID, TTL: BigInt((lease?.ttlMs ?? 0) / 1_000) };
    }
  }

  async *#watch(requests: AsyncIterable<WatchRequest>, { signal }: HandlerContext): AsyncIterable<WatchResponseInit> {
    for await (const { requestUnion } of requests) {
      if (requestUnion.case === "createRequest") return yield* this.#follow(requestUnion.value, signal);
    }
  }

  async *#follow(request: WatchCreateRequest, signal: AbortSignal): AsyncIterable<WatchResponseInit> {
    const isIn = rangeOf(request);
    const cluster = this.#cluster;
    yield { header: this.#header, created: true };
    for (let next = request.startRevision; !signal.aborted && cluster === this.#cluster; ) {
      if (next < this.#compacted) {
        yield { header: this.#header, canceled: true, compactRevision: this.#compacted };
        return;
      }
      const found = this.#history.filter(({ key, revision }) => revision >= next && isIn(key));
      const last = found[MAX_BATCH - 1]?.revision ?? this.#revision;
      const events = found.filter(({ revision }) => revision <= last).map(eventOf);
      // A watch of a later revision waits for it.
      if (next <= last) next = last + 1n;
      if (events.length > 0) yield { header: this.#header, events };
      else await this.#nextChange(signal);
    }
  }

  #nextChange(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#watchers.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#watchers.add(wake);
      signal.addEventListener("abort", wake);
    });
  }
}

function eventOf({ key, revision, kv }: Change): EventInit {
  if (kv !== undefined) return { type: EventType.PUT, kv };
  return { type: EventType.DELETE, kv: { key: Buffer.from(key), modRevision: revision } };
}

function decode(key: Uint8Array): string {
  return Buffer.from(key).toString();
}

/** Returns the test whether a key is in the range of a request. */
function rangeOf({ key, rangeEnd }: Pick<RangeRequest, "key" | "rangeEnd">): (key: string) => boolean {
  const [first, end] = [decode(key), decode(rangeEnd)];
  return end === "" ? (one) => one === first : (one) => one >= first && one < end;
}
