/**
 * What the matrix knows of a peer.
 */
import type { CaseName } from "./cases.ts";
import type { Running } from "./program.ts";

/** Certificates for the TLS half of the matrix, in PEM and as files. */
export interface Credentials {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly files: { readonly ca: string; readonly cert: string; readonly key: string };
  /** The name in the server's certificate. */
  readonly servername: string;
}

/** Where a server is. With credentials: over TLS. */
export interface Target {
  readonly port: number;
  readonly credentials: Credentials | undefined;
}

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
  runCase(name: CaseName, target: Target): Promise<void>;
  startServer(credentials: Credentials | undefined): Promise<Running>;
}

/** A peer that cannot be had here, and why. */
export class MissingPeer extends Error {}

/** Makes a peer ready. Rejects with a {@link MissingPeer} where it cannot be had. */
export type PeerSetup = (credentials: Credentials) => Promise<Peer>;
