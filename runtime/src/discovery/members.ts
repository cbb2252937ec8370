/**
 * The members of a target: its endpoints by address, and the attempts to connect to them.
 *
 *     listed    known endpoints keep connections, state and counts; new ones connect in the background, a few at a time
 *     lost      reconnected at once; after a failed attempt when the backoff of its connections ends
 *     removed   takes no new calls, and closes when its streams have ended
 */
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { startBackgroundTimer } from "../call/timer.ts";
import type { ConnectEndpoint, Endpoint } from "./endpoint.ts";
import { Member } from "./member.ts";

/** The target of {@link Members}. */
export interface MembersOwner {
  readonly isClosed: boolean;
  /** The maximum number of endpoints that are connected at a time. */
  readonly connectAtMost: number;
  /** Handles an endpoint that takes calls from now on. */
  onReady(member: Member): void;
  /** Handles an endpoint that takes no more calls because its last connection was lost. */
  onLost(member: Member): void;
  /** Handles a failed attempt to connect. `isFirst` is false if the attempt before it failed as well. */
  onFailed(member: Member, error: RpcError, isFirst: boolean): void;
  onRemoved(member: Member): void;
}

/** The maximum number of concurrent connection attempts. */
const MAX_CONNECTING = 10;
/** The minimum delay before an endpoint is connected to again, in milliseconds. */
const MIN_RECONNECT_MS = 100;
/** The maximum time that streams of a removed endpoint may take to end, in milliseconds. */
const REMOVED_GRACE_MS = 15 * 60_000;

export class Members {
  readonly #owner: MembersOwner;
  readonly #connect: ConnectEndpoint;
  #byAddress = new Map<string, Member>();
  readonly #idle = new Set<Member>();
  #connecting = 0;
  /** Connections of endpoints that were removed and still have streams. */
  readonly #leaving = new Map<Member, Promise<void>>();

  constructor(owner: MembersOwner, connect: ConnectEndpoint) {
    this.#owner = owner;
    this.#connect = connect;
  }

  get size(): number {
    return this.#byAddress.size;
  }

  /** All members, in the order of the list. */
  [Symbol.iterator](): IterableIterator<Member> {
    return this.#byAddress.values();
  }

  /** Replaces the list. {@link connectMore} connects to the new endpoints. */
  replace(endpoints: readonly Endpoint[]): void {
    const members = new Map<string, Member>();
    for (const endpoint of endpoints) {
      const known = this.#byAddress.get(endpoint.address);
      const member = known ?? new Member(endpoint);
      member.endpoint = endpoint;
      if (known === undefined) this.#idle.add(member);
      members.set(endpoint.address, member);
    }
    for (const [address, member] of this.#byAddress) if (!members.has(address)) this.#remove(member);
    this.#byAddress = members;
  }

  #remove(member: Member): void {
    member.stopTimer();
    member.state = "idle";
    this.#idle.delete(member);
    this.#owner.onRemoved(member);
    const { connections } = member;
    if (connections === undefined) return;
    const stopTimer = startBackgroundTimer(REMOVED_GRACE_MS, () =>
      connections.destroy(new RpcError(Code.Unavailable, `${member.endpoint.address} is no longer an endpoint`)),
    );
    const closed = connections.close().finally(() => {
      stopTimer();
      this.#leaving.delete(member);
    });
    this.#leaving.set(member, closed);
  }

  /** Connects to endpoints that are not connected, as far as the limits permit. */
  connectMore(): void {
    if (this.#owner.isClosed) return;
    const { connectAtMost } = this.#owner;
    let ready = 0;
    if (connectAtMost < this.size) for (const { state } of this) if (state === "ready") ready++;
    for (const member of this.#idle) {
      if (this.#connecting >= MAX_CONNECTING || ready + this.#connecting >= connectAtMost) return;
      void this.#connectTo(member);
    }
  }

  async #connectTo(member: Member): Promise<void> {
    this.#idle.delete(member);
    member.state = "connecting";
    this.#connecting++;
    try {
      const connections = member.open(this.#connect, (isReady) => this.#readiness(member, isReady));
      await connections.connect();
      this.#readiness(member, true);
    } catch (reason) {
      if (this.#isMember(member) && member.state === "connecting") {
        this.failed(member, RpcError.from(reason, Code.Unavailable));
      }
    } finally {
      this.#connecting--;
      this.connectMore();
    }
  }

  #isMember(member: Member): boolean {
    return !this.#owner.isClosed && this.#byAddress.get(member.endpoint.address) === member;
  }

  /** Handles a new connection, or the loss of the last one. */
  #readiness(member: Member, isReady: boolean): void {
    if (!this.#isMember(member) || isReady === (member.state === "ready")) return;
    if (isReady) {
      member.stopTimer();
      this.#idle.delete(member);
      member.state = "ready";
      member.lastError = undefined;
      member.failures = 0;
      member.readySince = performance.now();
      this.#owner.onReady(member);
      return;
    }
    member.state = "idle";
    // The error may be that of an ejection.
    member.lastError = undefined;
    this.#idle.add(member);
    this.#owner.onLost(member);
    this.connectMore();
  }

  /** Handles an endpoint that could not be connected to. It is tried again later. */
  failed(member: Member, error: RpcError): void {
    const isFirst = member.lastError === undefined || member.state === "ready";
    member.state = "failing";
    member.lastError = error;
    this.#owner.onFailed(member, error, isFirst);
    const waitMs = Math.max(member.connections?.backoffMs ?? 0, MIN_RECONNECT_MS);
    member.stopTimer();
    member.stopTimer = startBackgroundTimer(waitMs, () => {
      this.#idle.add(member);
      this.connectMore();
    });
    this.connectMore();
  }

  /** Stops all timers. */
  stop(): void {
    for (const member of this) member.stopTimer();
    this.#idle.clear();
  }

  /** Waits for running exchanges to finish, and closes all connections. */
  async close(): Promise<void> {
    const all = [...this].map(({ connections }) => connections?.close());
    await Promise.all([...all, ...this.#leaving.values()]);
  }

  destroy(reason: RpcError): void {
    for (const { connections } of [...this, ...this.#leaving.keys()]) connections?.destroy(reason);
  }
}
