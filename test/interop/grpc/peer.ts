/**
 * A peer of the matrix.
 */
import type { Credentials, Target } from "../peer.ts";
import type { Running } from "../program.ts";
import type { CaseName } from "./cases.ts";

export interface Peer {
  readonly name: string;
  readonly version: string;
  readonly credentials: Credentials;
  /** The cases that its client can run, and those that its server can answer. */
  readonly clientCases: readonly CaseName[];
  readonly serverCases: readonly CaseName[];
  /** Cases of its client that run in part: without a look at whether a response was compressed, or a plain message after one. */
  readonly partialCases?: readonly CaseName[];
  /** Runs a case with the peer's client. Throws if it fails. */
  runCase(name: CaseName, target: Target): Promise<unknown>;
  startServer(credentials: Credentials | undefined): Promise<Running>;
}

/** Makes a peer ready. Rejects with a `MissingPeer` where it cannot be had. */
export type PeerSetup = (credentials: Credentials) => Promise<Peer>;
