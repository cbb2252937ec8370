/**
 * A target: the endpoints that a resolver finds, their connections, and the picker that chooses among those that are ready.
 *
 *     list changed      endpoints are compared by address: known ones keep connections, state and counts; new ones connect in
 *                       the background; those that are left out and still connected take calls only if no listed one does
 *     resolver failed   the last list stays in use until the resolver succeeds
 *     connection lost   the endpoint leaves the picker and is reconnected; the resolver is asked for a new lookup
 *     no calls          the resolver pauses after `idleTimeoutMs`; the next call resumes it, with the last list
 */

import type { CallContext } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { noteObstacle } from "../call/context.ts";
import { subscribed } from "../call/diagnostics.ts";
import { callHook, RpcError, reasonOf, transportClosed } from "../call/error.ts";
import { now, random, startBackgroundTimer, startTimer } from "../call/platform.ts";
import { onAbort } from "../call/timer.ts";
import { type ChannelState, NO_STREAMS } from "../http/channel-state.ts";
import { type EjectionMethod, OutlierDetector } from "./ejection.ts";
import { type ConnectEndpoint, type Endpoint, listFailures, type Resolver } from "./endpoint.ts";
import { chooseSubset, EndpointList } from "./endpoint-list.ts";
import type { Member } from "./member.ts";
import { Members } from "./members.ts";
import { ReadySet } from "./ready-set.ts";
import { Resolution } from "./resolution.ts";
import type { Balancing, EndpointStatus, TargetEvent, TargetOptions } from "./target-options.ts";
import type { ZoneOptions } from "./zone.ts";

export class TargetDriver {
  /** The name in error messages. */
  readonly name: string;
  /** True once there is a list. */
  isResolved = false;
  /** True if a call was made since the idle timer was last started. */
  used = false;
  readonly #options: TargetOptions & ZoneOptions;
  readonly #resolution: Resolution;
  readonly #seed = Math.floor(random() * 2 ** 32);
  readonly #list: EndpointList;
  readonly #members: Members;
  readonly #outliers: OutlierDetector;
  /** The endpoints that take calls. */
  readonly ready: ReadySet;
  #resolverError: RpcError | undefined;
  #stopIdle = (): void => {};
  isClosed = false;
  #waiters = new Set<() => void>();
  /** Called after each change that {@link changed} waits for. */
  onChange = (): void => {};

  constructor(resolver: Resolver, connect: ConnectEndpoint, options: TargetOptions & ZoneOptions) {
    this.name = options.name;
    this.#options = options;
    this.#members = new Members(
      {
        isClosed: () => this.isClosed,
        connectAtMost: () => this.ready.balancer.connectAtMost ?? Number.POSITIVE_INFINITY,
        onReady: (member) => {
          this.#report(member, "ready");
          this.ready.added();
        },
        onLost: (member) => {
          this.#report(member, "idle");
          this.ready.changed();
          this.#resolution.refresh();
        },
        onFailed: (member, error, isFirst) => {
          // An endpoint whose health is watched is connected.
          if (member.endWatch === undefined)
            this.#event({ type: "connection failed", address: member.endpoint.address, error });
          if (isFirst) this.#report(member, "failing", error);
          this.ready.changed();
          this.#resolution.refresh();
        },
        onUnlisted: ({ endpoint }) => this.#event({ type: "unlisted", address: endpoint.address }),
        onProblem: (problem) => this.#list.warn(problem),
        onRemoved: ({ endpoint }) => {
          this.#event({ type: "removed", address: endpoint.address });
          this.ready.changed();
        },
      },
      connect,
      options,
    );
    this.#outliers = new OutlierDetector(
      this.#members,
      (member, error, method, isEjected) => this.#onOutlier(member, error, method, isEjected),
      options.ejection,
    );
    this.ready = new ReadySet(
      {
        members: this.#members,
        isActive: () => !this.isClosed && this.#resolution.isRunning,
        onReturned: (member) => {
          member.lastError = undefined;
          this.#report(member, "ready");
        },
        onPicker: () => this.#notify(),
      },
      this.#outliers,
      options.balancer,
      options,
    );
    this.#list = new EndpointList((problem) => this.#event({ type: "invalid endpoint", problem }));
    this.#resolution = new Resolution(resolver, {
      onList: (endpoints) => this.#listed(endpoints),
      onFailure: (error) => this.#resolverFailed(error),
      onServiceConfig: (config) => this.#configured(config),
      onProblem: (problem) => this.#list.warn(problem),
    });
  }

  /** Resumes the resolver if it is paused. */
  wake(): void {
    this.used = true;
    if (this.isClosed || this.#resolution.isRunning) return;
    this.#resolution.start();
    this.#watchUse();
    this.ready.update();
  }

  /** Replaces the load balancing policy, the limits of outlier ejection and what is watched. */
  balanceBy(balancing: Balancing): void {
    const { balancer, ejection } = balancing;
    this.#outliers.options = ejection;
    this.#members.watch(balancing);
    if (balancer === this.ready.balancer) return;
    this.ready.balancer = balancer;
    this.ready.changed();
    this.#members.connectMore();
  }

  /**
   * The reason why no call can be made: no endpoint is ready, and none will be ready soon. `undefined` while an
   * endpoint is expected.
   */
  failure(): RpcError | undefined {
    if (this.isClosed) return transportClosed();
    if (!this.isResolved)
      return this.#resolverError && this.#unavailable(this.#resolverError.rawMessage, this.#resolverError);
    const members = [...this.#members];
    if (members.length === 0)
      return this.#unavailable(this.#options.emptyReason ?? "it has no endpoints", this.#resolverError);
    if (members.some(({ state, lastError }) => lastError === undefined || state === "ready")) return undefined;
    const failed = members.map(({ endpoint, lastError }) => [endpoint, lastError?.rawMessage ?? ""] as const);
    return this.#unavailable(listFailures(failed), members[0]?.lastError);
  }

  /** The event that calls wait for while no endpoint is ready and there is no failure, for the errors of their deadlines. */
  get awaited(): string {
    const { source } = this.#options;
    return this.isResolved || source === undefined ? "connection" : `answer of ${source}`;
  }

  #unavailable(reason: string, cause: RpcError | undefined): RpcError {
    return new RpcError(Code.Unavailable, `cannot reach ${this.name}: ${reason}`, { cause });
  }

  /** Waits for the next change of the picker or of the failure, and keeps the program running. Rejects when the signal fires. */
  changed(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const stopTimer = startTimer(Number.POSITIVE_INFINITY, resolve);
      const waiter = (): void => {
        stopTimer();
        unlink();
        resolve();
      };
      this.#waiters.add(waiter);
      const unlink = onAbort(signal, (error) => {
        stopTimer();
        this.#waiters.delete(waiter);
        reject(error);
      });
    });
  }

  /** Lets a call wait for the first list, or for a failure. */
  async resolved(context: CallContext): Promise<void> {
    context.target = this.name;
    this.wake();
    noteObstacle(context.signal, this.awaited);
    while (!this.isResolved && this.failure() === undefined) await this.changed(context.signal);
    noteObstacle(context.signal, undefined);
  }

  /** Counts a failed call whose failure was caused by the endpoint, not by the call. */
  failed(member: Member, error: RpcError): void {
    if (member.state === "ready") this.#outliers.failed(member, error, now());
  }

  #onOutlier(member: Member, error: RpcError, method: EjectionMethod, isEjected: boolean): void {
    const change = { address: member.endpoint.address, error, method };
    if (isEjected) {
      member.lastError = error;
      this.ready.changed();
    }
    this.#event(
      isEjected ? { type: "endpoint", state: "ejected", ...change } : { type: "ejection skipped", ...change },
    );
  }

  /** Handles a call that could not be sent to the endpoint at all. */
  unreachable(member: Member, error: RpcError): void {
    if (member.state === "ready") this.#members.failed(member, error);
  }

  endpoints(): readonly EndpointStatus[] {
    const time = now();
    return [...this.#members].map((member) => ({
      address: member.endpoint.address,
      state: member.state === "ready" && member.isEjected(time) ? "ejected" : member.state,
      listed: member.isListed,
      weight: member.weight,
      active: member.active,
      lastError: member.lastError,
    }));
  }

  state(): ChannelState {
    const states = this.endpoints();
    const subchannels = [...this.#members].map((member, index) => {
      const { streams = NO_STREAMS, sockets = [] } = member.connections?.state?.()?.subchannels[0] ?? {};
      const { address, state } = states[index] as EndpointStatus;
      return { key: member, address, state, streams, sockets };
    });
    return { target: this.name, subchannels };
  }

  /** Ends the resolver, and then waits for running exchanges to finish. */
  async close(): Promise<void> {
    this.#stop();
    await this.#members.close();
  }

  destroy(reason: RpcError): void {
    this.#stop();
    this.#members.destroy(reason);
  }

  #stop(): void {
    this.isClosed = true;
    this.#resolution.pause();
    this.ready.stop();
    this.#stopIdle();
    this.#members.stop();
    this.#notify();
  }

  /** Pauses the resolver after a whole idle period without a call. */
  #watchUse(): void {
    this.used = false;
    this.#stopIdle = startBackgroundTimer(this.#options.idleTimeoutMs, () => {
      if (this.used || this.#waiters.size > 0) return this.#watchUse();
      this.#resolution.pause();
      this.ready.stop();
    });
  }

  #resolverFailed(error: RpcError): void {
    if (this.#resolverError === undefined) this.#event({ type: "resolver failed", error });
    const { name } = this;
    subscribed("resolution")?.publish({ target: name, error, text: `resolution of ${name} failed: ${error.message}` });
    this.#resolverError = error;
    this.#notify();
  }

  #publish(given: readonly Endpoint[]): void {
    const channel = subscribed("resolution");
    if (channel === undefined) return;
    const addresses = given.map((one) => one?.address);
    const text = `resolved ${this.name}: ${addresses.join(", ") || "no endpoints"}`;
    channel.publish({ target: this.name, addresses, text });
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
    this.#publish(given);
    this.#resolverError = undefined;
    const all = this.#list.validate(given);
    this.isResolved = true;
    const { subset = all.length, zone } = this.#options;
    const used = zone?.choose(all, subset, this.#seed) ?? chooseSubset(all, subset, this.#seed);
    this.#members.replace(used, all);
    this.#event({ type: "resolved", endpoints: all.length });
    this.ready.changed();
    this.#members.connectMore();
  }

  #notify(): void {
    const waiters = this.#waiters;
    this.#waiters = new Set();
    for (const waiter of waiters) waiter();
    this.onChange();
  }

  #report(member: Member, state: EndpointStatus["state"], error?: RpcError): void {
    this.#event({ type: "endpoint", address: member.endpoint.address, state, ...(error && { error }) });
  }

  #event(event: TargetEvent): void {
    const { onEvent } = this.#options;
    if (onEvent !== undefined) callHook("the hook onEndpoint", () => onEvent(event));
  }
}
