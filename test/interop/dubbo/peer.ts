/**
 * A Triple peer of the matrix.
 */
import type { Credentials, Target } from "../peer.ts";
import type { Running } from "../program.ts";

export interface DubboPeer {
  readonly name: string;
  readonly version: string;
  /** True if its server wants the option `javaNames` of ours. */
  readonly javaNames: boolean;
  /** True if its server speaks sub-protocol A at all. */
  readonly httpRpc: boolean;
  /** True if that is so for an interface without a proto file. */
  readonly plainHttpRpc: boolean;
  /** Starts its server with every service of the matrix. */
  startServer(credentials: Credentials | undefined): Promise<Running>;
  /** Starts a server that has the service with a proto file for sub-protocol A, where the other one does not. */
  readonly startHttpServer?: () => Promise<Running>;
  /** Runs every case its client has; tells what went wrong with each, `undefined` where nothing did. */
  runClient(target: Target): Promise<ReadonlyMap<string, string | undefined>>;
  /** Runs every case of the interface without a proto file; missing where the peer's server does not have it either. */
  readonly runPlainClient?: (target: Target) => Promise<ReadonlyMap<string, string | undefined>>;
  /** Runs every case of sub-protocol A that an HTTP client of it has; missing where there is none. */
  readonly runHttpClient?: (port: number) => Promise<ReadonlyMap<string, string | undefined>>;
  /** Sends the interface without a proto file what else sub-protocol A takes, with an HTTP client of its own. */
  readonly runHttpBodies?: (port: number) => Promise<ReadonlyMap<string, string | undefined>>;
}

/** Reads what clients of peers print: a line for each case, its name, a tab, and `ok` or what went wrong. */
export function readOutcomes(output: string): ReadonlyMap<string, string | undefined> {
  const lines = output.split("\n").map((line) => line.split("\t", 2));
  return new Map(
    lines.flatMap(([name, outcome]): [string, string | undefined][] =>
      name === undefined || outcome === undefined ? [] : [[name, outcome === "ok" ? undefined : outcome]],
    ),
  );
}
