/**
 * Peers of sockets: the addresses of clients, and the certificates that TLS has received.
 */
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { PeerCertificate, PeerConnection, PeerTls } from "../../call/peer.ts";

const peers = new WeakMap<Socket, PeerConnection>();

/** The peer of a socket. Call it while the socket is open: a closed one has no address. */
export function peerOf(socket: Socket, protocol: PeerConnection["protocol"]): PeerConnection {
  const known = peers.get(socket);
  if (known !== undefined) return known;
  const peer: PeerConnection = {
    address: withoutMapping(socket.remoteAddress),
    port: socket.remotePort,
    protocol,
    tls: socket instanceof TLSSocket ? new SocketTls(socket) : undefined,
  };
  peers.set(socket, peer);
  return peer;
}

/** An IPv4 address that a socket of IPv6 has received (RFC 4291, section 2.5.5.2), as IPv4. */
export function withoutMapping(address: string | undefined): string | undefined {
  return address?.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "");
}

/** Reads the certificate on first use: it costs more than a call. */
class SocketTls implements PeerTls {
  readonly version: string | undefined;
  readonly #socket: TLSSocket;
  #certificate: PeerCertificate | undefined | null = null;

  constructor(socket: TLSSocket) {
    this.version = socket.getProtocol() ?? undefined;
    this.#socket = socket;
  }

  get certificate(): PeerCertificate | undefined {
    if (this.#certificate === null) this.#certificate = this.#socket.getPeerX509Certificate();
    return this.#certificate;
  }

  get verified(): boolean {
    return this.#socket.authorized && this.certificate !== undefined;
  }

  get identity(): readonly string[] {
    return this.verified ? namesOf(this.certificate as PeerCertificate) : [];
  }
}

/** One name of a list that Node writes: values with special characters are JSON strings. */
const ALTERNATIVE_NAME = /(?:^|, )(?:DNS|URI|email|IP Address):("(?:[^"\\]|\\.)*"|[^,"]+)/g;

function namesOf({ subject, subjectAltName = "" }: PeerCertificate & { readonly subjectAltName?: string | undefined }) {
  const names = Array.from(subjectAltName.matchAll(ALTERNATIVE_NAME), ([, name = ""]) =>
    name.startsWith('"') ? (JSON.parse(name) as string) : name,
  );
  const commonName = /^CN=(.*)$/m.exec(subject)?.[1];
  return names.length > 0 || commonName === undefined ? names : [commonName];
}
