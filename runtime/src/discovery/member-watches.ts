/**
 * The watches of connected members: of their health (gRFC A17), if a service to watch is configured, and of their load out of
 * band (gRFC A51), if the policy has an interval of reports.
 */
import type { RpcError } from "../call/error.ts";
import { now } from "../call/platform.ts";
import type { EndpointConnections } from "./endpoint.ts";
import type { Member } from "./member.ts";
import { takeReport } from "./policy/weighted-round-robin.ts";
import type { Balancing, TargetOptions } from "./target-options.ts";

/** The owner of {@link MemberWatches}. */
export interface WatchesOwner {
  onHealthy(member: Member): void;
  onUnhealthy(member: Member, failure: RpcError): void;
  /** Handles a member whose connection was lost before the first status. */
  onLost(member: Member): void;
  /** Reports an endpoint that cannot be watched. */
  onProblem(problem: string): void;
}

export type WatchOptions = Balancing & Pick<TargetOptions, "watches">;

export class MemberWatches {
  readonly #owner: WatchesOwner;
  readonly #watches: TargetOptions["watches"];
  /** The options that say what is watched. */
  #watched: Balancing;

  constructor(owner: WatchesOwner, options: WatchOptions) {
    this.#owner = owner;
    this.#watches = options.watches;
    this.#watched = options;
  }

  /** Changes what is watched by watches that begin later. Returns false if it remains the same. */
  replace(balancing: Balancing): boolean {
    const { healthService, balancer } = this.#watched;
    this.#watched = balancing;
    const reportMs = balancing.balancer.loads?.oobReportingPeriodMs;
    return balancing.healthService !== healthService || reportMs !== balancer.loads?.oobReportingPeriodMs;
  }

  /** Begins the watches of a member that is connected, unless they run. Returns false if its health is not watched. */
  begin(member: Member): boolean {
    const connections = member.connections as EndpointConnections;
    this.#watchLoad(member, connections);
    const { healthService } = this.#watched;
    if (member.endWatch !== undefined) return true;
    if (this.#watches === undefined || healthService === undefined) return false;
    member.endWatch = this.#watches.health(connections, healthService, {
      onStatus: (failure) =>
        failure === undefined ? this.#owner.onHealthy(member) : this.#owner.onUnhealthy(member, failure),
      onUnimplemented: () => {
        member.endWatch = undefined;
        this.#owner.onHealthy(member);
        this.#owner.onProblem(`${member.endpoint.address} has no grpc.health.v1.Health: it takes calls unchecked`);
      },
      onUnconnected: () => {
        if (member.state === "ready") member.endWatch = undefined;
        else this.#owner.onLost(member);
      },
    });
    return true;
  }

  #watchLoad(member: Member, connections: EndpointConnections): void {
    const reportMs = this.#watched.balancer.loads?.oobReportingPeriodMs;
    if (reportMs === undefined) return;
    member.endLoadWatch ??= this.#watches?.load(connections, reportMs, {
      onReport: (report) => {
        const { loads } = this.#watched.balancer;
        if (loads !== undefined) takeReport(member, () => report, loads, now());
      },
      onUnimplemented: () =>
        this.#owner.onProblem(`${member.endpoint.address} has no ORCA service: it sends no load reports`),
      onUnconnected: () => {
        member.endLoadWatch = undefined;
      },
    });
  }
}
