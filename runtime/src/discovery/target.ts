/**
 * A target: the endpoints that a resolver finds, their connections, and the picker that chooses among those that are ready.
 *
 *     list changed      endpoints are compared by address: known ones keep connections, state and counts; new ones connect in
 *                       the background; removed ones take no new calls, and close when their streams have ended
 *     list empty        applied after `emptyAfterMs`, because registries publish empty lists when they restart; the first at once
 *     resolver failed   the last list stays in use until the resolver succeeds
 *     connection lost   the endpoint leaves the picker and is reconnected; the resolver is asked for a new lookup
 *     no calls          the resolver pauses after `idleTimeoutMs`; the next call resumes it, with the last list
 */

import { Code } from "../call/code.ts";
import { diagnostics } from "../call/diagnostics.ts";
import { callHook, RpcError, reasonOf, transportClosed } from "../call/error.ts";
import { startBackgroundTimer } from "../call/timer.ts";
import type { HttpRequest } from "../http/exchange.ts";
import type { Balancer, Picker } from "./balancer.ts";
import { countFailure, type EjectionOptions } from "./ejection.ts";
import { type ConnectEndpoint, type Endpoint, endpointProblem, type Resolver } from "./endpoint.ts";
import { type EndpointState, Member, type SlowStart } from "./member.ts";
import { ReadySet } from "./ready-set.ts";
import { Resolution } from "./resolution.ts";
import { chooseSubset } from "./subset.ts";

/** A change of a target that is worth reporting. There are no events for single attempts or calls. */
export type TargetEvent =
  | { readonly type: "resolved"; readonly endpoints: number }
  | { readonly type: "resolver failed"; readonly error: RpcError }
  | { readonly type: "endpoint"; readonly address: string; readonly state: EndpointState; readonly error?: RpcError }
  | { readonly type: "removed"; readonly address: string }
  | { readonly type: "invalid endpoint"; readonly problem: string }
  | { readonly type: "invalid service config"; readonly problem: string };

/** An endpoint of a target, as `transport.endpoints()` shows it. */
export interface EndpointStatus {
  readonly address: string;
  readonly state: EndpointState;
  /** The weight that policies see, after warm-up and slow start. */
  readonly weight: number;
  /** The number of open streams and of calls that wait for a stream. */
  readonly active: number;
  /** The reason why it cannot be connected to, or why it was ejected. */
  readonly lastError: RpcError | undefined;
}

export interface TargetOptions extends SlowStart {
  /** The name in error messages. */
  readonly name: string;
  readonly balancer: Balancer;
  /** The number of endpoints of the list that are used. `undefined`: all. */
  readonly subset: number | undefined;
  /** Time before an empty list replaces the last one, in milliseconds. */
  readonly emptyAfterMs: number;
  /** Time without calls after which the resolver pauses, in milliseconds. */
  readonly idleTimeoutMs: number;
  readonly ejection: EjectionOptions;
  readonly onEvent?: ((event: TargetEvent) => void) | undefined;
  readonly onServiceConfig?: ((serviceConfig: unknown) => void) | undefined;
  /** A source of random numbers from 0 to 1. Default: `Math.random`. */
  readonly random?: () => number;
}

/** The maximum number of concurrent connection attempts. */
const MAX_CONNECTING = 10;
/** The minimum delay before an endpoint is connected to again, in milliseconds. */
const MIN_RECONNECT_MS = 100;
/** The maximum time that streams of a removed endpoint may take to end, in milliseconds. */
const REMOVED_GRACE_MS = 15 * 60_000;

export class TargetDriver {
  /** True if a call was made since the idle timer was last started. */
  used = false;
  readonly #connect: ConnectEndpoint;
  readonly #options: TargetOptions;
  readonly #resolution: Resolution;
  readonly #seed: number;
  readonly #ready: ReadySet;
  #members = new Map<string, Member>();
  #idle = new Set<Member>();
  #connecting = 0;
  /** Connections of endpoints that were removed and still have streams. */
  readonly #leaving = new Map<Member, Promise<void>>();
  #isResolved = false;
  #resolverError: RpcError | undefined;
  #stopHoldDown: (() => void) | undefined;
  #stopIdle = (): void => {};
  #isClosed = false;
  #waiters = new Set<() => void>();

  constructor(resolver: Resolver, connect: ConnectEndpoint, options: TargetOptions) {
    const { random = Math.random } = options;
    this.#connect = connect;
    this.#options = options;
    this.#ready = new ReadySet(this, options.balancer, options);
    this.#seed = Math.floor(random() * 2 ** 32);
    this.#resolution = new Resolution(
      resolver,
      {
        onList: (endpoints) => this.#listed(endpoints),
        onFailure: (error) => this.#resolverFailed(error),
        onServiceConfig: (config) => this.#configured(config),
        onProblem: (problem) => this.#event({ type: "invalid endpoint", problem }),
      },
      random,
    );
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Chooses an endpoint for a call. `undefined` while no endpoint is ready, or while the target is paused or closed. */
  get picker(): Picker | undefined {
    return this.#ready.picker;
  }

  /** For {@link ReadySet}. */
  get members(): Iterable<Member> {
    return this.#members.values();
  }

  /** For {@link ReadySet}: whether pickers are made. */
  get isActive(): boolean {
    return !this.#isClosed && this.#resolution.isRunning;
  }

  /** For {@link ReadySet}: wakes the calls that wait for a change. */
  onPicker(): void {
    this.#notify();
  }

  /** Resumes the resolver if it is paused. */
  wake(): void {
    this.used = true;
    if (this.#isClosed || this.#resolution.isRunning) return;
    this.#resolution.start();
    this.#watchUse();
    this.#ready.update();
  }

  /** Replaces the load balancing policy. */
  balanceBy(balancer: Balancer): void {
    if (balancer === this.#ready.balancer) return;
    this.#ready.balancer = balancer;
    this.#connectMore();
  }

  /** The reason why no call can be made: no endpoint is ready, and none will be ready soon. `undefined` while an endpoint is expected. */
  failure(): RpcError | undefined {
    if (this.#isClosed) return transportClosed();
    if (!this.#isResolved)
      return this.#resolverError && this.#unavailable(this.#resolverError.rawMessage, this.#resolverError);
    const members = [...this.#members.values()];
    if (members.length === 0) return this.#unavailable("it has no endpoints", this.#resolverError);
    if (members.some(({ state, lastError }) => lastError === undefined || state === "ready")) return undefined;
    const reasons = members
      .slice(0, 3)
      .map(({ endpoint, lastError }) => `${endpoint.address}: ${lastError?.rawMessage}`);
    const more = members.length > 3 ? ` and ${members.length - 3} more` : "";
    return this.#unavailable(`${reasons.join("; ")}${more}`, members[0]?.lastError);
  }

  #unavailable(reason: string, cause: RpcError | undefined): RpcError {
    return new RpcError(Code.Unavailable, `cannot reach ${this.#options.name}: ${reason}`, { cause });
  }

  /** Calls back once, at the next change of the picker or of the failure. Returns the function that removes the callback. */
  onChange(callback: () => void): () => void {
    this.#waiters.add(callback);
    return () => this.#waiters.delete(callback);
  }

  /** Picks a ready endpoint that the call has not tried yet. Returns `undefined` if it has tried all. */
  pickOther(request: HttpRequest, tried: ReadonlySet<Member>): Member | undefined {
    return this.#ready.pickOther(request, tried);
  }

  /** Counts a call that has been answered. */
  succeeded(member: Member): void {
    if (member.failures > 0) member.failures = 0;
  }

  /** Counts a failed call whose failure was caused by the endpoint, not by the call. */
  failed(member: Member, error: RpcError): void {
    if (member.state !== "ready") return;
    const now = performance.now();
    if (!countFailure(member, this.#members.values(), this.#options.ejection, now)) return;
    member.lastError = error;
    this.#report(member, "ejected", error);
    this.#ready.changed();
  }

  /** Handles a call that could not be sent to the endpoint at all. */
  unreachable(member: Member, error: RpcError): void {
    if (member.state === "ready") this.#failing(member, error);
  }

  endpoints(): readonly EndpointStatus[] {
    const now = performance.now();
    return [...this.#members.values()].map((member) => ({
      address: member.endpoint.address,
      state: member.state === "ready" && member.isEjected(now) ? "ejected" : member.state,
      weight: member.weight,
      active: member.active,
      lastError: member.lastError,
    }));
  }

  /** Ends the resolver, and then waits for running exchanges to finish. */
  async close(): Promise<void> {
    this.#stop();
    const all = [...this.#members.values()].map(({ connections }) => connections?.close());
    await Promise.all([...all, ...this.#leaving.values()]);
  }

  destroy(reason: RpcError): void {
    this.#stop();
    for (const { connections } of [...this.#members.values(), ...this.#leaving.keys()]) connections?.destroy(reason);
  }

  #stop(): void {
    this.#isClosed = true;
    this.#resolution.pause();
    this.#stopHoldDown?.();
    this.#ready.stop();
    this.#stopIdle();
    for (const member of this.#members.values()) member.stopTimer();
    this.#idle.clear();
    this.#notify();
  }

  /** Pauses the resolver after a whole idle period without a call. */
  #watchUse(): void {
    this.used = false;
    this.#stopIdle = startBackgroundTimer(this.#options.idleTimeoutMs, () => {
      if (this.used || this.#waiters.size > 0) return this.#watchUse();
      this.#resolution.pause();
      this.#ready.stop();
    });
  }

  #resolverFailed(error: RpcError): void {
    if (this.#resolverError === undefined) this.#event({ type: "resolver failed", error });
    diagnostics.write?.(`resolution of ${this.#options.name} failed: ${error.message}`);
    this.#resolverError = error;
    this.#notify();
  }

  /** Applies a service config. An invalid one is reported and changes nothing. */
  #configured(serviceConfig: unknown): void {
    try {
      this.#options.onServiceConfig?.(serviceConfig);
    } catch (reason) {
      this.#event({ type: "invalid service config", problem: reasonOf(reason) });
    }
  }

  #listed(given: readonly Endpoint[]): void {
    diagnostics.write?.(
      `resolved ${this.#options.name}: ${given.map((one) => one?.address).join(", ") || "no endpoints"}`,
    );
    this.#resolverError = undefined;
    const endpoints = new Map<string, Endpoint>();
    for (const endpoint of given) {
      const problem = endpointProblem(endpoint);
      if (problem !== undefined) this.#event({ type: "invalid endpoint", problem });
      else if (!endpoints.has(endpoint.address)) endpoints.set(endpoint.address, endpoint);
    }
    if (endpoints.size === 0 && this.#members.size > 0) {
      this.#stopHoldDown ??= startBackgroundTimer(this.#options.emptyAfterMs, () => {
        this.#stopHoldDown = undefined;
        this.#apply([]);
      });
      return;
    }
    this.#stopHoldDown?.();
    this.#stopHoldDown = undefined;
    this.#apply([...endpoints.values()]);
  }

  #apply(all: readonly Endpoint[]): void {
    this.#isResolved = true;
    const { subset } = this.#options;
    const chosen = subset === undefined ? all : chooseSubset(all, subset, this.#seed);
    const members = new Map<string, Member>();
    for (const endpoint of chosen) {
      const known = this.#members.get(endpoint.address);
      const member = known ?? new Member(endpoint);
      member.endpoint = endpoint;
      if (known === undefined) this.#idle.add(member);
      members.set(endpoint.address, member);
    }
    for (const [address, member] of this.#members) if (!members.has(address)) this.#remove(member);
    this.#members = members;
    this.#event({ type: "resolved", endpoints: all.length });
    this.#ready.changed();
    this.#connectMore();
  }

  #remove(member: Member): void {
    member.stopTimer();
    member.state = "idle";
    this.#idle.delete(member);
    this.#event({ type: "removed", address: member.endpoint.address });
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

  #isMember(member: Member): boolean {
    return !this.#isClosed && this.#members.get(member.endpoint.address) === member;
  }

  #connectMore(): void {
    if (this.#isClosed) return;
    const { connectAtMost = Number.POSITIVE_INFINITY } = this.#ready.balancer;
    let ready = 0;
    if (connectAtMost < this.#members.size) {
      for (const { state } of this.#members.values()) if (state === "ready") ready++;
    }
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
        this.#failing(member, RpcError.from(reason, Code.Unavailable));
      }
    } finally {
      this.#connecting--;
      this.#connectMore();
    }
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
      this.#report(member, "ready");
      this.#ready.added();
      return;
    }
    member.state = "idle";
    this.#idle.add(member);
    this.#report(member, "idle");
    this.#ready.changed();
    this.#resolution.refresh();
    this.#connectMore();
  }

  #failing(member: Member, error: RpcError): void {
    if (member.lastError === undefined) this.#report(member, "failing", error);
    member.state = "failing";
    member.lastError = error;
    this.#ready.changed();
    this.#resolution.refresh();
    const waitMs = Math.max(member.connections?.backoffMs ?? 0, MIN_RECONNECT_MS);
    member.stopTimer();
    member.stopTimer = startBackgroundTimer(waitMs, () => {
      this.#idle.add(member);
      this.#connectMore();
    });
    this.#connectMore();
  }

  #notify(): void {
    const waiters = this.#waiters;
    this.#waiters = new Set();
    for (const waiter of waiters) waiter();
  }

  #report(member: Member, state: EndpointState, error?: RpcError): void {
    this.#event({ type: "endpoint", address: member.endpoint.address, state, ...(error && { error }) });
  }

  #event(event: TargetEvent): void {
    const { onEvent } = this.#options;
    if (onEvent !== undefined) callHook("the hook onEndpoint", () => onEvent(event));
  }
}
