/**
 * The client of a call as its server sees it: where it connects from, and the identity that TLS has verified.
 */

/** The client of a call. All of it comes from the connection; headers of proxies count only with the server's option `trustProxy`. */
export interface Peer {
  /** IP address of the client. `undefined` for Unix sockets, in memory, and where the platform does not tell it. */
  readonly address: string | undefined;
  /** Port of the client. `undefined` where the address is, and for an address from a proxy's header. */
  readonly port: number | undefined;
  /** Version of HTTP: `h1` or `h2`. */
  readonly protocol: "h1" | "h2";
  /** The host and port that the client asked for: `:authority` of HTTP/2, or the header `host`. The client chooses it. */
  readonly authority: string | undefined;
  /** The TLS of the connection; `undefined` without TLS. */
  readonly tls: PeerTls | undefined;
}

export interface PeerTls {
  /** Version of TLS, such as `TLSv1.3`. */
  readonly version: string | undefined;
  /** True if the client has a certificate, and the server's `ca` has verified it. */
  readonly verified: boolean;
  /**
   * Names of the verified certificate: its subject alternative names (DNS, URI such as `spiffe://…`, email, IP), or the common name if it
   * has none, as in gRPC. Empty without a verified certificate.
   */
  readonly identity: readonly string[];
  /** The client's certificate, verified or not; `undefined` if the server did not ask for one, or the client has none. */
  readonly certificate: PeerCertificate | undefined;
}

/** A certificate. In Node it is an `X509Certificate` of `node:crypto`. */
export interface PeerCertificate {
  readonly subject: string;
  readonly issuer: string;
  readonly serialNumber: string;
  readonly fingerprint256: string;
  readonly validFrom: string;
  readonly validTo: string;
  /** In DER. */
  readonly raw: Uint8Array;
}

/** The connection of a peer: the part that does not depend on a request. */
export type PeerConnection = Omit<Peer, "authority">;
