/**
 * The members of a target: its endpoints by address, and the attempts to connect to them.
 *
 *     listed    known endpoints keep connections, state and counts; new ones connect in the background, a few at a time
 *     silent    an attempt without a result no longer counts among these few after 250 ms (RFC 8305, section 5; gRFC A61)
 *     lost      reconnected at once, at most once a second, because a server may close each connection; after a failed attempt
 *               when the backoff of its connections ends
 *     unlisted  left out by the last list, and kept while it is ready and answers checks, for `keepUnlistedMs` at most: a
 *               registry that cannot see an endpoint may be the only one that cannot (Envoy keeps such hosts while they
 *               pass health checks). A GOAWAY ends it at once
 *     removed   takes no new calls, and closes when its streams have ended
 */

import { Code } from "../call/code.ts";
import { endpointRemoved, RpcError } from "../call/error.ts";
import { now, startBackgroundTimer } from "../call/platform.ts";
import type { ConnectEndpoint, Endpoint, EndpointConnections } from "./endpoint.ts";
import { Member } from "./member.ts";
import { MemberWatches, type WatchOptions } from "./member-watches.ts";
import type { Balancing, TargetOptions } from "./target-options.ts";

/** The target of {@link Members}. */
export interface MembersOwner {
  isClosed(): boolean;
  /** The maximum number of endpoints that are connected at a time. */
  connectAtMost(): number;
  /** Handles an endpoint that takes calls from now on. */
  onReady(member: Member): void;
  /** Handles an endpoint that takes no more calls because its last connection was lost. */
  onLost(member: Member): void;
  /** Handles a failed attempt to connect. `isFirst` is false if the attempt before it failed as well. */
  onFailed(member: Member, error: RpcError, isFirst: boolean): void;
  /** Handles a ready endpoint that the list has left out. */
  onUnlisted(member: Member): void;
  onRemoved(member: Member): void;
  /** Reports an endpoint that takes calls although its health cannot be watched. */
  onProblem(problem: string): void;
}

/** The maximum number of connection attempts at a time that began within the last {@link ATTEMPT_DELAY_MS}. */
const MAX_CONNECTING = 10;
/** The maximum number of all connection attempts at a time. */
const MAX_UNANSWERED = 100;
/** Time in milliseconds that a connection attempt has before others begin as well: the delay that RFC 8305 recommends. */
const ATTEMPT_DELAY_MS = 250;
/** The minimum delay before an endpoint is connected to again, in milliseconds. */
const MIN_RECONNECT_MS = 100;
/** The minimum time between reconnections without a delay, in milliseconds. */
const RECONNECT_INTERVAL_MS = 1_000;
/**
 * Interval of checks of an unlisted endpoint, in milliseconds. gRPC servers close connections on which the third PING arrives
 * within five minutes of the first and without calls, so that there are two in the default of `keepUnlistedMs`.
 */
const CHECK_INTERVAL_MS = 2 * 60_000;
/** The maximum time that streams of connections which are given up may take to end, in milliseconds. */
const RELEASED_GRACE_MS = 15 * 60_000;

/** `subset` also limits the number of unlisted endpoints that are kept. */
type MemberOptions = WatchOptions & Pick<TargetOptions, "keepUnlistedMs" | "subset">;

export class Members {
  readonly #owner: MembersOwner;
  readonly #connect: ConnectEndpoint;
  readonly #options: MemberOptions;
  #byAddress = new Map<string, Member>();
  readonly #idle = new Set<Member>();
  readonly #watches: MemberWatches;
  #connecting = 0;
  /** The number of attempts that began within the last {@link ATTEMPT_DELAY_MS}. */
  #recent = 0;
  /** Connections that members have given up and that still have streams, each with the end of its closing. */
  readonly #leaving = new Map<EndpointConnections, Promise<void>>();

  constructor(owner: MembersOwner, connect: ConnectEndpoint, options: MemberOptions) {
    this.#owner = owner;
    this.#connect = connect;
    this.#options = options;
    this.#watches = new MemberWatches(
      {
        onHealthy: (member) => this.#healthy(member),
        onUnhealthy: (member, failure) => this.failed(member, failure),
        onLost: (member) => this.#lost(member),
        onProblem: (problem) => this.#owner.onProblem(problem),
      },
      options,
    );
  }

  /** All members: in the order of the list, then the unlisted ones. */
  [Symbol.iterator](): IterableIterator<Member> {
    return this.#byAddress.values();
  }

  /**
   * Replaces the endpoints by some of the list, which `all` contains as a whole. {@link connectMore} connects to the new
   * endpoints.
   */
  replace(endpoints: readonly Endpoint[], all: readonly Endpoint[]): void {
    const members = new Map<string, Member>();
    for (const endpoint of endpoints) {
      const known = this.#byAddress.get(endpoint.address);
      const member = known ?? new Member(endpoint);
      member.endpoint = endpoint;
      if (known === undefined) this.#idle.add(member);
      else if (!member.isListed) {
        member.stopTimer();
        member.isListed = true;
      }
      members.set(endpoint.address, member);
    }
    const { keepUnlistedMs, subset = Number.POSITIVE_INFINITY } = this.#options;
    const listed = new Set(all === endpoints ? [] : all.map(({ address }) => address));
    for (const [address, member] of this.#byAddress) {
      if (members.has(address)) continue;
      // An endpoint that is listed, but not in the subset any more, is not needed.
      const isKept = keepUnlistedMs > 0 && member.state === "ready" && !listed.has(address);
      if (!isKept || members.size - endpoints.length >= subset) this.#remove(member);
      else {
        members.set(address, member);
        if (member.isListed) this.#keep(member);
      }
    }
    this.#byAddress = members;
  }

  /** Keeps a ready endpoint that the list has left out, until a check fails or its time is over. */
  #keep(member: Member): void {
    member.isListed = false;
    const until = now() + this.#options.keepUnlistedMs;
    let isKept = true;
    let stopTimer = (): void => {};
    member.stopTimer = () => {
      isKept = false;
      stopTimer();
    };
    const check = async (): Promise<void> => {
      const answers = now() < until && (await (member.connections as EndpointConnections).check());
      if (!isKept) return;
      const nextMs = Math.min(CHECK_INTERVAL_MS, until - now());
      if (answers) stopTimer = startBackgroundTimer(nextMs, () => void check());
      else this.#discard(member);
    };
    void check();
    this.#owner.onUnlisted(member);
  }

  #discard(member: Member): void {
    this.#byAddress.delete(member.endpoint.address);
    this.#remove(member);
  }

  #remove(member: Member): void {
    member.stopTimer();
    member.stopWatch();
    member.state = "idle";
    this.#idle.delete(member);
    this.#owner.onRemoved(member);
    this.#release(member.connections, () => endpointRemoved(member.endpoint.address));
  }

  /** Closes the connections of a member, if it had any. Streams that exceed the grace period fail with the reason. */
  #release(connections: EndpointConnections | undefined, reason: () => RpcError): void {
    if (connections === undefined) return;
    const stopTimer = startBackgroundTimer(RELEASED_GRACE_MS, () => connections.destroy(reason()));
    const closed = connections.close().finally(() => {
      stopTimer();
      this.#leaving.delete(connections);
    });
    this.#leaving.set(connections, closed);
  }

  /** Connects to endpoints that are not connected, as far as the limits permit. */
  connectMore(): void {
    if (this.#owner.isClosed()) return;
    const connectAtMost = this.#owner.connectAtMost();
    const ready = this.#countReady();
    for (const member of this.#idle) {
      if (this.#recent >= MAX_CONNECTING || this.#connecting >= MAX_UNANSWERED) return;
      if (ready + this.#recent >= connectAtMost) return;
      void this.#connectTo(member);
    }
  }

  /** The number of listed endpoints that are ready, if it is limited. */
  #countReady(): number {
    if (this.#owner.connectAtMost() === Number.POSITIVE_INFINITY) return 0;
    return [...this].filter(({ state, isListed }) => state === "ready" && isListed).length;
  }

  async #connectTo(member: Member): Promise<void> {
    this.#idle.delete(member);
    member.state = "connecting";
    this.#connecting++;
    this.#recent++;
    let isRecent = true;
    const age = (): void => {
      if (isRecent) this.#recent--;
      isRecent = false;
    };
    const stopTimer = startBackgroundTimer(ATTEMPT_DELAY_MS, () => {
      age();
      this.connectMore();
    });
    try {
      const connections = member.open(this.#connect, (isConnected) =>
        isConnected ? this.#connected(member) : this.#lost(member),
      );
      await connections.connect();
      if (member.connections === connections) this.#connected(member);
    } catch (reason) {
      if (this.#isMember(member) && member.state === "connecting") {
        this.failed(member, RpcError.from(reason, Code.Unavailable));
      }
    } finally {
      stopTimer();
      age();
      this.#connecting--;
      this.connectMore();
    }
  }

  #isMember(member: Member): boolean {
    return !this.#owner.isClosed() && this.#byAddress.get(member.endpoint.address) === member;
  }

  /** Changes what is watched. */
  watch(balancing: Balancing): void {
    if (!this.#watches.replace(balancing)) return;
    for (const member of this) {
      if (member.state !== "ready" && member.endWatch === undefined) continue;
      member.stopWatch();
      this.#connected(member);
    }
  }

  /** Handles a connection. The endpoint takes calls, if its health is watched after the first status. */
  #connected(member: Member): void {
    if (!this.#isMember(member)) return;
    if (!this.#watches.begin(member)) this.#healthy(member);
  }

  #healthy(member: Member): void {
    if (!this.#isMember(member) || member.state === "ready") return;
    if (this.#countReady() >= this.#owner.connectAtMost()) {
      this.#drop(member);
      return;
    }
    member.stopTimer();
    this.#idle.delete(member);
    member.state = "ready";
    member.lastError = undefined;
    member.forgetFailures();
    member.load = undefined;
    member.readySince = now();
    this.#owner.onReady(member);
  }

  /** Handles the loss of the last connection. */
  #lost(member: Member): void {
    if (!this.#isMember(member) || (member.state !== "ready" && member.endWatch === undefined)) return;
    member.stopWatch();
    if (!member.isListed) {
      this.#discard(member);
      return;
    }
    member.state = "idle";
    // The error may be that of an ejection.
    member.lastError = undefined;
    const waitMs = member.reconnectedAt + RECONNECT_INTERVAL_MS - now();
    if (waitMs > 0) this.#reconnectIn(waitMs, member);
    else {
      member.reconnectedAt = now();
      this.#idle.add(member);
    }
    this.#owner.onLost(member);
    this.connectMore();
  }

  #reconnectIn(waitMs: number, member: Member): void {
    member.stopTimer();
    member.stopTimer = startBackgroundTimer(waitMs, () => {
      this.#idle.add(member);
      this.connectMore();
    });
  }

  /** Closes the connections of an endpoint that answered after enough others. */
  #drop(member: Member): void {
    member.stopTimer();
    member.state = "idle";
    this.#idle.add(member);
    const reason = `${member.endpoint.address} is not needed any more`;
    this.#release(member.drop(), () => new RpcError(Code.Unavailable, reason));
  }

  /** Handles an endpoint that could not be connected to, which is tried again later, or that is not healthy. */
  failed(member: Member, error: RpcError): void {
    if (!member.isListed) {
      this.#discard(member);
      return;
    }
    const isFirst = member.lastError === undefined || member.state === "ready";
    member.state = "failing";
    member.lastError = error;
    this.#owner.onFailed(member, error, isFirst);
    member.stopTimer();
    this.#idle.delete(member);
    // An endpoint whose health is watched is connected.
    if (member.endWatch === undefined) {
      this.#reconnectIn(Math.max(member.connections?.backoffMs ?? 0, MIN_RECONNECT_MS), member);
    }
    this.connectMore();
  }

  /** Stops all timers and watches. No endpoint takes calls any more. */
  stop(): void {
    for (const member of this) {
      member.stopTimer();
      member.stopWatch();
      member.state = "idle";
    }
    this.#idle.clear();
  }

  /** Waits for running exchanges to finish, and closes all connections. */
  async close(): Promise<void> {
    const all = [...this].map(({ connections }) => connections?.close());
    await Promise.all([...all, ...this.#leaving.values()]);
  }

  destroy(reason: RpcError): void {
    for (const { connections } of this) connections?.destroy(reason);
    for (const connections of [...this.#leaving.keys()]) connections.destroy(reason);
  }
}
