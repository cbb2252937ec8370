/**
 * The plan of a simulation: topology, options, calls and faults, with times and targets, as JSON. A seed gives a plan; a
 * failure gives a smaller plan, which is kept instead of the seed because seeds change their meaning with the code.
 */

import type { DnsPlan } from "./dns-model.ts";
import type { KubernetesPlan } from "./kubernetes-model.ts";
import type { DialFault } from "./network.ts";
import type { Cut, LinkOptions } from "./pipe.ts";
import type { ClockOptions } from "./world.ts";

export type Kind = "ask" | "askAgain" | "download" | "upload" | "talk";

/** Behaviour of the handler of a call. */
export type Behaviour =
  | "answer"
  /** Answers after `delayMs`, whatever happens to the call. */
  | "delay"
  /** Answers after `delayMs`, unless its signal fires before. */
  | "work"
  /** Waits for its signal. */
  | "wait"
  /** Waits for its signal when it is executed first, and answers when it is executed again. */
  | "hang"
  /** Answers or fails before it has read its requests. */
  | "early"
  /** Fails with `code`. */
  | "fail"
  /** The method does not exist. */
  | "unknown method";

/** One call. */
export interface Operation {
  readonly id: number;
  readonly at: number;
  readonly client: number;
  readonly kind: Kind;
  readonly behaviour: Behaviour;
  readonly delayMs: number;
  readonly code: number;
  /** Bytes of each request and of each response. */
  readonly requestBytes: number;
  readonly responseBytes: number;
  /** Messages of a stream, and the pause between them. */
  readonly messages: number;
  readonly pauseMs: number;
  readonly timeoutMs: number | undefined;
  /** The time after which the caller cancels. */
  readonly cancelAfterMs: number | undefined;
  /** The caller leaves a stream of responses after this number. */
  readonly readMessages: number | undefined;
  readonly waitForReady: boolean | undefined;
}

/**
 * Something that goes wrong, or changes. Times are in milliseconds since the start of the chaos. Hosts other than clients and
 * servers have numbers as well: a `server` from {@link MEMBER} on is a member of the registry, and a `client` from
 * {@link PROVIDER} on is a server in its connections to the registry.
 */
export type Fault = { readonly at: number } & (
  | {
      readonly kind: "cut";
      readonly client: number;
      readonly server: number;
      readonly upstream: boolean;
      readonly cut: Cut;
    }
  | { readonly kind: "reset all"; readonly server: number }
  | {
      readonly kind: "partition";
      readonly client: number;
      readonly server: number;
      readonly held: readonly [boolean, boolean];
      readonly ms: number;
      /** True if it ends when the client makes another connection, because it has given up the last one. */
      readonly untilDial?: boolean;
    }
  | { readonly kind: "dial"; readonly server: number; readonly fault: DialFault; readonly ms: number }
  | { readonly kind: "crash"; readonly server: number; readonly isSilent: boolean; readonly ms: number }
  | { readonly kind: "restart"; readonly server: number; readonly graceMs: number; readonly ms: number }
  | { readonly kind: "close client"; readonly client: number; readonly graceMs: number }
  | { readonly kind: "list"; readonly client: number; readonly servers: readonly number[]; readonly isFailure: boolean }
  /** All members of the registry end, and return after `ms` without their data. */
  | { readonly kind: "lose data"; readonly ms: number }
  /** All sessions or leases of the registry end. */
  | { readonly kind: "expire" }
  | { readonly kind: "compact" }
  | { readonly kind: "malform"; readonly replies: number }
  /** The event loop is blocked: everything that is due meanwhile happens at once. */
  | { readonly kind: "block"; readonly ms: number }
  /** The wall clock is set forward, or back. */
  | { readonly kind: "jump"; readonly ms: number }
  /** A provider changes its weight, and so its entries. */
  | { readonly kind: "update"; readonly server: number; readonly weight: number }
  /** A server reports that it does not serve. */
  | { readonly kind: "health"; readonly server: number; readonly ms: number }
);

/** The time limit of calls that nothing in their plan delays for so long, in milliseconds. */
export const PATIENT_MS = 2_000_000;

export const PROVIDER = 100;
export const MEMBER = 200;

/** A registry, in which servers register and where clients find them. */
export interface RegistryPlan {
  readonly kind: "zookeeper" | "etcd" | "nacos";
  readonly members: number;
  readonly sessionTimeoutMs: number;
  readonly mode: "all" | "instance" | "interface";
  /** True if all clients are in one process, and have one registry. */
  readonly isShared?: boolean;
  /** True if replies to what the last changes cause are malformed. */
  readonly isMalformed?: boolean;
}

/** A source of endpoints that all clients have. */
export type SourcePlan = DnsPlan | KubernetesPlan;

export interface ServerPlan {
  readonly maxConnections: number | undefined;
  readonly limits: Readonly<Record<string, number>>;
  readonly shedLoad?: boolean;
  /** True if it has the health service. */
  readonly hasHealth?: boolean;
  /** The calls per second with which its load reports say that it is fully used. Default: it reports no load. */
  readonly capacity?: number | undefined;
}

export interface ClientPlan {
  /** `undefined`: one server, by base URL; otherwise a resolver that lists all servers. */
  readonly balancer: "p2c" | "roundRobin" | "pickFirst" | "weightedRoundRobin" | undefined;
  readonly server: number;
  readonly protocol: "grpc" | "http-rpc";
  /** The version of HTTP and the codec of `http-rpc`. Default: `2` and `proto`. */
  readonly httpVersion?: "1.1";
  readonly codec?: "json" | undefined;
  /** Attempts of calls that may be repeated; 1: no policy. */
  readonly maxAttempts: number;
  readonly hedgingDelayMs: number | undefined;
  readonly options: Readonly<Record<string, number | boolean>>;
  /** `a` for servers with even numbers, `b` for the others. */
  readonly zone?: "a" | "b" | undefined;
  /** True if it watches the health of its servers. */
  readonly watchesHealth?: boolean;
  /** The options of `weightedRoundRobin`. */
  readonly loads?: Readonly<Record<string, number>> | undefined;
  /** True if it reads streams of responses over `http-rpc`, as event streams. */
  readonly readsEvents?: boolean;
}

export interface Plan {
  readonly seed: number;
  /** The kind of faults: `rolling` restarts and `faultless` plans have stricter checks. */
  readonly profile: string;
  /** The kind of calls, for people. */
  readonly load: string;
  readonly clock: ClockOptions;
  readonly link: LinkOptions;
  readonly servers: readonly ServerPlan[];
  readonly clients: readonly ClientPlan[];
  readonly registry?: RegistryPlan | undefined;
  /** `undefined`: lists that nothing but a fault of the plan delays. */
  readonly source?: SourcePlan | undefined;
  readonly operations: readonly Operation[];
  readonly faults: readonly Fault[];
  /** Duration of the phase with faults; then everything is healed. */
  readonly chaosMs: number;
  /** True if some clients or servers have options that few plans have. */
  readonly hasOptions?: boolean;
  /** The streams that each client opens at the end and whose requests stay unread. */
  readonly unreadStreams?: number | undefined;
  /** The end: servers close before or after clients, or clients close while they cannot reach any server. */
  readonly end: "clients first" | "servers first" | "cut off";
}
