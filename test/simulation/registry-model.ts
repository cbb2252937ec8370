/**
 * Registries as simulations see them: hosts with a state, which faults change, and which the checks read.
 */

export interface RegistryModel {
  readonly port: number;
  /** Starts a member. The network has its listener until the host crashes. */
  start(member: number): Promise<void>;
  /** Ends the process of a member; the network has ended its connections. */
  stop(member: number): Promise<void>;
  /** Returns the paths of all entries. */
  paths(): Iterable<string>;
  loseData(): void;
  /** Ends all sessions or leases. */
  expire(): void;
  /** Makes the next replies malformed, or fail. */
  malform(replies: number): void;
  /** Forgets the history of changes, if there is one. */
  compact(): void;
  /** True while some clients get answers that are older than the last change. */
  readonly isStale?: boolean;
  /** Ends all members, after everything else has ended. */
  close(): Promise<void>;
}

/** The application of all providers, and that of all consumers. */
export const APPLICATION = "simulation";
export const CONSUMER = "simulation-client";
export const SERVICE = "simulation.v1.SimulationService";

/** The address that a member listens on. */
export function memberAddress(member: number): string {
  return `10.0.0.${201 + member}`;
}

/** The addresses of a registry's providers, one for each entry, sorted, and the number of its consumers. */
export interface Content {
  readonly providers: readonly string[];
  readonly instances: readonly string[];
  readonly consumers: number;
}

export function contentOf(model: RegistryModel): Content {
  const providers: string[] = [];
  const instances: string[] = [];
  let consumers = 0;
  for (const path of model.paths()) {
    const [, root, first, second, third] = path.split("/");
    if (root === "services" && first === APPLICATION && second) instances.push(second);
    if (root === "dubbo" && first === SERVICE && second === "consumers" && third) consumers++;
    if (root === "dubbo" && first === SERVICE && second === "providers" && third) {
      providers.push(/^tri:\/\/([^/]+)\//.exec(decodeURIComponent(third))?.[1] ?? third);
    }
  }
  return { providers: providers.sort(), instances: instances.sort(), consumers };
}
