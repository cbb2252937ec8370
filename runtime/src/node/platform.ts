/**
 * The platform, as far as only Node has it: sockets, the DNS, threads, and facts of the host. `call/platform.ts` has what every
 * platform gives.
 */
import { connect as connectTcp, createServer as createTcpServer, type Server, type Socket } from "node:net";
import {
  type ConnectionOptions,
  connect as connectTls,
  createServer as createTlsServer,
  type TlsOptions,
} from "node:tls";

/**
 * The DNS: a resolver asks the servers for records, with their TTL, and `lookup` asks the operating system. Both reject with
 * Node's codes; a name without records has the code `ENOTFOUND` or `ENODATA`.
 */
export { lookup, Resolver as DnsResolver } from "node:dns/promises";
export { availableParallelism, hostname, networkInterfaces } from "node:os";

/**
 * Begins to connect, over TLS if there are options for it, and returns the socket at once. It emits "connect" and, over TLS,
 * "secureConnect" in later turns, or "error" and "close".
 *
 * Bytes arrive in order and whole, in chunks that differ from those that were written. A small write to a socket that can
 * take it leaves a `writableLength` of 0 at once. Memory may be reused when the callback of its write has run. A reset is
 * reported to a socket that is paused too, the end of the peer's side only to one that reads.
 */
export function connect(
  to: { readonly host: string; readonly port: number } | { readonly path: string },
  tls?: ConnectionOptions,
): Socket {
  return tls === undefined ? connectTcp(to) : connectTls({ ...tls, ...to });
}

/**
 * Creates a server of sockets, which emits "connection", and over TLS "secureConnection" after the handshake. `listen` starts
 * it; `close` ends it, which is complete when all of its sockets have closed.
 */
export function createSocketServer(tls?: TlsOptions): Server {
  return tls === undefined ? createTcpServer({ noDelay: true }) : createTlsServer(tls);
}

/** Does work in a thread. `work` does the same in this one, for platforms without threads; it is not called here. */
export function offload<T>(_work: () => T, inThread: () => Promise<T>): Promise<T> {
  return inThread();
}
