/**
 * Peers of sockets: the addresses of clients, and their TLS certificates.
 */
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { PeerCertificate, PeerConnection, PeerTls } from "../../call/peer.ts";
import { alternativeNames } from "../io/tls-options.ts";

const peers = new WeakMap<Socket, PeerConnection>();

/** Returns the peer of a socket. Call it while the socket is open, because a closed socket has no address. */
export function peerOf(socket: Socket, protocol: PeerConnection["protocol"]): PeerConnection {
  const known = peers.get(socket);
  if (known !== undefined) return known;
  const peer = readPeer(socket, protocol);
  peers.set(socket, peer);
  return peer;
}

/** Reads the peer of a socket, for a caller that keeps it. */
export function readPeer(socket: Socket, protocol: PeerConnection["protocol"]): PeerConnection {
  return {
    address: withoutMapping(socket.remoteAddress),
    port: socket.remotePort,
    protocol,
    tls: socket instanceof TLSSocket ? new SocketTls(socket) : undefined,
  };
}

/** Converts an IPv4-mapped IPv6 address (RFC 4291, section 2.5.5.2) to IPv4, and returns other addresses unchanged. */
export function withoutMapping(address: string | undefined): string | undefined {
  return address?.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "");
}

/** The TLS state of a peer. The certificate is read on first use, because reading it takes longer than a call. */
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

const IDENTITIES = ["DNS", "URI", "email", "IP Address"];

function namesOf({ subject, subjectAltName = "" }: PeerCertificate & { readonly subjectAltName?: string | undefined }) {
  const names = alternativeNames(subjectAltName, IDENTITIES);
  const commonName = /^CN=(.*)$/m.exec(subject)?.[1];
  return names.length > 0 || commonName === undefined ? names : [commonName];
}
