/**
 * The client of a call, as known to its server: the address of its connection, and the identity that TLS has verified.
 */

/**
 * The client of a call. Except for `authority`, the values come from the connection. Headers of proxies are used only if
 * the server has the option `trustProxy`.
 */
export interface Peer {
  /** IP address of the client. `undefined` for Unix sockets, in memory, and on platforms that do not provide it. */
  readonly address: string | undefined;
  /** Port of the client. `undefined` if the address is `undefined` or comes from a proxy's header. */
  readonly port: number | undefined;
  /** Version of HTTP: `h1` or `h2`. */
  readonly protocol: "h1" | "h2";
  /**
   * The requested host and port: `:authority` of HTTP/2, or the header `host`. The client chooses the value, so do not
   * trust it.
   */
  readonly authority: string | undefined;
  /** The TLS of the connection; `undefined` without TLS. */
  readonly tls: PeerTls | undefined;
}

/** The TLS of a client's connection, as seen by the server. */
export interface PeerTls {
  /** Version of TLS, such as `TLSv1.3`. */
  readonly version: string | undefined;
  /** True if the client has sent a certificate that was verified with the server's `ca`. */
  readonly verified: boolean;
  /**
   * Names in the verified certificate: its subject alternative names (DNS, URI such as `spiffe://…`, email, IP), or the
   * common name if it has no alternative names, as in gRPC. Empty without a verified certificate.
   */
  readonly identity: readonly string[];
  /**
   * The client's certificate, verified or not. `undefined` if the server did not request a certificate, or the client did
   * not send one.
   */
  readonly certificate: PeerCertificate | undefined;
}

/** A certificate. In Node it is an `X509Certificate` of `node:crypto`. */
export interface PeerCertificate {
  /** The name of the owner, one attribute in each line, such as `CN=orders`. */
  readonly subject: string;
  /** The name of the authority that has signed the certificate, in the same form. */
  readonly issuer: string;
  /** The serial number in hexadecimal. */
  readonly serialNumber: string;
  /** The SHA-256 digest of the certificate: pairs of hexadecimal digits, joined with colons. */
  readonly fingerprint256: string;
  /** The beginning of the period of validity, such as `Nov 22 17:00:00 2026 GMT`. */
  readonly validFrom: string;
  /** The end of the period of validity, in the same form. */
  readonly validTo: string;
  /** The certificate in DER. */
  readonly raw: Uint8Array;
}

/** The connection of a peer: the part that does not depend on a request. */
export type PeerConnection = Omit<Peer, "authority">;
