/** The ways to reach a server: each version of HTTP, in cleartext and over TLS. */
import { type Certificate, hasOpenssl, sharedCertificates } from "./certificate.ts";
import { Http1Connection, Http2Connection } from "./connection.ts";
import { openSocket, secure } from "./server.ts";

export interface Way {
  readonly name: string;
  readonly version: "1.1" | "2";
  readonly overTls: boolean;
}

const ALL: readonly Way[] = [
  { name: "HTTP/1.1", version: "1.1", overTls: false },
  { name: "HTTP/2", version: "2", overTls: false },
  { name: "HTTP/1.1 and TLS", version: "1.1", overTls: true },
  { name: "HTTP/2 and TLS", version: "2", overTls: true },
];

/** The ways that this machine supports: certificates are created by openssl. */
export const WAYS: readonly Way[] = ALL.filter(({ overTls }) => !overTls || hasOpenssl);

/** The option `tls` of a server that is reached this way. */
export function tlsOf({ overTls }: Way): Certificate | undefined {
  return overTls ? sharedCertificates().server : undefined;
}

/** Opens a connection to a server that was started with {@link tlsOf}. */
export async function openWay(way: Way, port: number): Promise<Http1Connection | Http2Connection> {
  return way.version === "1.1" ? openHttp1(way, port) : openHttp2(way, port);
}

export function openHttp2({ overTls }: Way, port: number): Http2Connection {
  return new Http2Connection(`${overTls ? "https" : "http"}://127.0.0.1:${port}`, { rejectUnauthorized: false });
}

/** Opens a connection that speaks HTTP/1.1, which a client over TLS negotiates by ALPN. */
export async function openHttp1({ overTls }: Way, port: number): Promise<Http1Connection> {
  const tcp = await openSocket(port);
  const options = { ALPNProtocols: ["http/1.1"], rejectUnauthorized: false };
  return new Http1Connection(overTls ? await secure(tcp, options) : tcp);
}
