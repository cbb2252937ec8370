/**
 * The lease of a client: etcd removes the keys that are attached to it when it ends. It is granted with the first key, kept
 * alive, and revoked when the last key is removed.
 */
import { Code, RpcError } from "triple-es";
import { delayInBackground } from "triple-es/internal";
import type { EntrySession } from "../dubbo/source.ts";
import { registryClosed } from "../registration.ts";
import { ETCD_TIMEOUT_MS, type EtcdClient } from "./client.ts";

/** Time between attempts to renew a lease while the cluster is unreachable, in milliseconds. */
const LEASE_RETRY_MS = 500;

export class LeaseHolder {
  readonly #client: EtcdClient;
  readonly #ttlMs: number;
  #current: Lease | undefined;
  #granting: Promise<Lease> | undefined;
  #isClosed = false;

  constructor(client: EtcdClient, ttlMs: number) {
    this.#client = client;
    this.#ttlMs = ttlMs;
  }

  /** Returns the session of the current lease. Grants one if there is none. */
  async session(signal: AbortSignal): Promise<EntrySession<string>> {
    if (this.#isClosed) throw registryClosed();
    if (this.#current?.lost.aborted === false) return this.#current;
    this.#granting ??= this.#grant(signal).finally(() => {
      this.#granting = undefined;
    });
    return this.#granting;
  }

  /** Ends the lease, which removes its keys. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#granting?.catch(() => {});
    await this.#current?.end();
  }

  async #grant(signal: AbortSignal): Promise<Lease> {
    const ttl = BigInt(Math.ceil(this.#ttlMs / 1_000));
    const granted = await this.#client.lease.leaseGrant({ TTL: ttl }, { signal, timeoutMs: ETCD_TIMEOUT_MS });
    if (granted.error !== "") throw new RpcError(Code.Unavailable, granted.error);
    this.#current = new Lease(this.#client, granted.ID, Number(granted.TTL) * 1_000);
    return this.#current;
  }
}

class Lease implements EntrySession<string> {
  readonly #client: EtcdClient;
  readonly #id: bigint;
  readonly #lost = new AbortController();
  readonly lost: AbortSignal = this.#lost.signal;
  readonly #paths = new Set<string>();

  constructor(client: EtcdClient, id: bigint, ttlMs: number) {
    this.#client = client;
    this.#id = id;
    void this.#keepAlive(ttlMs);
  }

  readonly put = async (path: string, content: string): Promise<void> => {
    this.#paths.add(path);
    try {
      await this.#client.put(path, content, this.#id);
    } catch (reason) {
      if (RpcError.from(reason).code === Code.NotFound) this.#lose("the lease has ended");
      throw reason;
    }
  };

  readonly remove = async (path: string): Promise<void> => {
    this.#paths.delete(path);
    // Without an answer, the last key ends with the lease, which is not renewed any more.
    await (this.#paths.size === 0 ? this.end() : this.#client.removeOwned(path, this.#id));
  };

  /** Revokes the lease, which removes its keys at once. Never rejects: without an answer the lease ends by itself. */
  async end(): Promise<void> {
    if (this.#lost.signal.aborted) return;
    this.#lose("the lease was revoked");
    await this.#client.lease.leaseRevoke({ ID: this.#id }, { timeoutMs: ETCD_TIMEOUT_MS }).catch(() => {});
  }

  #lose(reason: string): void {
    this.#lost.abort(new RpcError(Code.Unavailable, reason));
  }

  /**
   * Renews the lease each third of its time. While the cluster is unreachable, only the cluster knows whether it has
   * ended.
   */
  async #keepAlive(ttlMs: number): Promise<void> {
    const { lost } = this;
    const id = this.#id;
    async function* beats() {
      while (!lost.aborted) {
        yield { ID: id };
        await delayInBackground(ttlMs / 3, lost);
      }
    }
    while (!lost.aborted) {
      try {
        for await (const { TTL } of this.#client.lease.leaseKeepAlive(beats(), { signal: lost })) {
          if (TTL <= 0n) return this.#lose("the lease has ended");
        }
      } catch {
        // The next attempt tells whether the lease is still there.
      }
      await delayInBackground(LEASE_RETRY_MS, lost);
    }
  }
}
