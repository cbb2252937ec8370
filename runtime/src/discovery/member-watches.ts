/**
 * The watches of members over their connections: of their health (gRFC A17), if a service to watch is configured, and of their
 * load out of band (gRFC A51), if the policy has an interval of reports.
 */
import type { RpcError } from "../call/error.ts";
import { now } from "../call/platform.ts";
import type { LoadSettings } from "./balancer.ts";
import type { EndpointConnections } from "./endpoint.ts";
import type { Member } from "./member.ts";
import { takeReport } from "./policy/weighted-round-robin.ts";
import type { Balancing, Watches } from "./target-options.ts";

/** The members that are watched. */
export interface WatchedMembers {
  /** Handles the health of a member: the reason why it is not healthy, or `undefined`. */
  onStatus(member: Member, failure: RpcError | undefined): void;
  /** Handles the end of a watch because the member has no connection any more. */
  onUnconnected(member: Member): void;
  /** Reports a member that cannot be watched. */
  onProblem(problem: string): void;
}

export class MemberWatches {
  readonly #watches: Watches | undefined;
  readonly #members: WatchedMembers;
  #service: string | undefined;
  #loads: LoadSettings | undefined;

  constructor(watches: Watches | undefined, members: WatchedMembers, { healthService, balancer }: Balancing) {
    this.#watches = watches;
    this.#members = members;
    this.#service = healthService;
    this.#loads = balancer.loads;
  }

  /** Changes what is watched. Returns false if the watches that run are the same. */
  change({ healthService, balancer: { loads } }: Balancing): boolean {
    const isSame = healthService === this.#service && loads?.oobReportingPeriodMs === this.#loads?.oobReportingPeriodMs;
    this.#service = healthService;
    this.#loads = loads;
    return !isSame;
  }

  /** Begins the watches of a connected member that do not run yet. Returns whether its health is watched. */
  begin(member: Member): boolean {
    const connections = member.connections as EndpointConnections;
    this.#watchLoad(member, connections);
    if (member.endWatch !== undefined) return true;
    if (this.#watches === undefined || this.#service === undefined) return false;
    member.endWatch = this.#watches.health(connections, this.#service, {
      onStatus: (failure) => this.#members.onStatus(member, failure),
      onUnimplemented: () => {
        member.endWatch = undefined;
        this.#members.onStatus(member, undefined);
        this.#members.onProblem(`${member.endpoint.address} has no grpc.health.v1.Health: it takes calls unchecked`);
      },
      onUnconnected: () => this.#members.onUnconnected(member),
    });
    return true;
  }

  #watchLoad(member: Member, connections: EndpointConnections): void {
    const reportMs = this.#loads?.oobReportingPeriodMs;
    if (reportMs === undefined) return;
    member.endLoadWatch ??= this.#watches?.load(connections, reportMs, {
      onReport: (report) => this.#loads && takeReport(member, () => report, this.#loads, now()),
      onUnimplemented: () =>
        this.#members.onProblem(`${member.endpoint.address} has no ORCA service: it sends no load reports`),
      onUnconnected: () => {
        member.endLoadWatch = undefined;
      },
    });
  }
}
