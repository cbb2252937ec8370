/**
 * A Triple peer of the matrix.
 */
import type { ClientTlsOptions } from "triple-es/node";
import type { Credentials, Target } from "../peer.ts";
import type { Running } from "../program.ts";

export interface DubboPeer {
  readonly name: string;
  readonly version: string;
  /** True if its server requires the option `javaNames` of clients. */
  readonly javaNames: boolean;
  /** True if its server over TLS negotiates HTTP/2 by ALPN. */
  readonly alpn: boolean;
  /** True if its server supports sub-protocol A. */
  readonly httpRpc: boolean;
  /** True if its server supports sub-protocol A for an interface without a proto file. */
  readonly plainHttpRpc: boolean;
  /** Starts its server with all services of the matrix. */
  startServer(credentials: Credentials | undefined): Promise<Running>;
  /** Starts a server that serves the service with a proto file over sub-protocol A, if the other one does not. */
  readonly startHttpServer?: () => Promise<Running>;
  /** Runs all cases of its client. Returns the error of each, or `undefined`. */
  runClient(target: Target): Promise<ReadonlyMap<string, string | undefined>>;
  /** Runs all cases of the interface without a proto file. Absent if the peer's server does not support it. */
  readonly runPlainClient?: (target: Target) => Promise<ReadonlyMap<string, string | undefined>>;
  /** Runs all cases of generic calls. Absent if the peer's client does not support them. */
  readonly runGenericClient?: (target: Target) => Promise<ReadonlyMap<string, string | undefined>>;
  /** The generic calls that end the process of its server, so that they are not made. Default: none. */
  readonly fatalCases?: readonly string[];
  /** Runs all cases of sub-protocol A with an HTTP client of the peer. Absent if there is none. */
  readonly runHttpClient?: (port: number) => Promise<ReadonlyMap<string, string | undefined>>;
  /** Sends the other bodies of sub-protocol A to the interface without a proto file, with an HTTP client of the peer. */
  readonly runHttpBodies?: (port: number) => Promise<ReadonlyMap<string, string | undefined>>;
}

/** The options of a client for a server with these credentials, which negotiates HTTP/2 by ALPN or not. */
export function clientTls({ ca, servername }: Credentials, alpn: boolean): ClientTlsOptions {
  return { ca, servername, ALPNProtocols: alpn ? undefined : [] };
}

/** Parses the output of clients of peers: a line for each case with its name, a tab, and `ok` or the error. */
export function readOutcomes(output: string): ReadonlyMap<string, string | undefined> {
  const lines = output.split("\n").map((line) => line.split("\t", 2));
  return new Map(
    lines.flatMap(([name, outcome]): [string, string | undefined][] =>
      name === undefined || outcome === undefined ? [] : [[name, outcome === "ok" ? undefined : outcome]],
    ),
  );
}
