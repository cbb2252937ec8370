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
  /** The cases that its client can run, and those that its server supports. */
  readonly clientCases: readonly CaseName[];
  readonly serverCases: readonly CaseName[];
  /**
   * Cases that its client runs in part: without checking whether a response was compressed, or without an uncompressed
   * message.
   */
  readonly partialCases?: readonly CaseName[];
  /** Runs a case with the peer's client. Throws if it fails. */
  runCase(name: CaseName, target: Target): Promise<unknown>;
  startServer(credentials: Credentials | undefined): Promise<Running>;
  /** Functions that run scenarios of several servers in cleartext, by name. They throw if they fail. */
  readonly scenarios?: Readonly<Record<string, () => Promise<void>>>;
  /** Starts and ends the program of its client, if that stays between cases: the time limit of a case is not for its start. */
  start?(): Promise<unknown>;
  stop?(): Promise<void>;
}

/** Prepares a peer. Rejects with a `MissingPeer` if it is not available. */
export type PeerSetup = (credentials: Credentials) => Promise<Peer>;
