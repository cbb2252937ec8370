/** The opening handshake of WebSockets that carry HTTP/2, the subprotocol `h2ts` (RFC 6455, section 4.2). */
import { createHash } from "node:crypto";
import { Metadata } from "../../../call/metadata.ts";
import type { PeerConnection } from "../../../call/peer.ts";
import { MessageError, malformed } from "../../../http1/error.ts";
import type { RequestHead } from "../../../http1/request.ts";
import { isOriginOfHost } from "../../../protocol/headers.ts";
import type { OriginPolicy } from "../../../protocol/options.ts";
import { SUBPROTOCOL } from "../../../websocket/tunnel.ts";

const HANDSHAKE_VERSION = "13";
/** Appended to the key of the client (section 1.3). */
const KEY_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** 16 bytes in base64. */
const KEY = /^[A-Za-z0-9+/]{22}==$/;

/** Fields that a browser or a proxy adds to the request of a WebSocket. The page can forge them in the calls inside. */
const INHERITED = ["cookie", "origin", "forwarded", "x-forwarded-for"];

/** An accepted WebSocket. */
export interface WebSocketUpgrade {
  /** The response. */
  readonly handshake: Uint8Array;
  /** Replaces, in the fields of a call, those that only the request of the WebSocket can tell: names and values in turn. */
  readonly inherit: (fields: readonly string[]) => string[];
}

/**
 * Answers a request that opens a WebSocket with HTTP/2; `undefined` for all other requests. Throws a `MessageError` for one that is
 * invalid or that a page sends which `allowsOrigin` does not allow. Pages of the host itself are allowed.
 */
export function openWebSocket(
  { method, minor, fields, length }: RequestHead,
  peer: PeerConnection,
  allowsOrigin: OriginPolicy,
): WebSocketUpgrade | undefined {
  const headers = Metadata.fromShared(fields);
  const lists = (name: string, token: string): boolean =>
    headers.getAll(name).some((value) => value.split(",").some((one) => one.trim().toLowerCase() === token));
  const opens = method === "GET" && minor === 1 && lists("connection", "upgrade") && lists("upgrade", "websocket");
  if (!opens || !lists("sec-websocket-protocol", SUBPROTOCOL)) return undefined;
  const key = headers.get("sec-websocket-key") ?? "";
  if (headers.get("sec-websocket-version") !== HANDSHAKE_VERSION) {
    const fields = ["upgrade", "websocket", "sec-websocket-version", HANDSHAKE_VERSION];
    throw new MessageError(426, `the version of the WebSocket must be ${HANDSHAKE_VERSION}`, fields);
  }
  if (!KEY.test(key) || length !== 0) throw malformed("a WebSocket needs the header sec-websocket-key, and no body");
  const origin = headers.get("origin");
  const isOwn = origin === undefined || isOriginOfHost(origin, headers.get("host"));
  const hasCredentials = isOwn || allowsOrigin(origin, true);
  // A browser adds cookies and certificates without a question. Cookies can be dropped.
  if (!hasCredentials && (peer.tls?.verified || !allowsOrigin(origin, false))) {
    throw new MessageError(403, `pages of the origin ${origin} may not call this server (option cors)`);
  }
  const inherited = INHERITED.flatMap((name) => headers.getAll(name).flatMap((value) => [name, value])).filter(
    (_, i, all) => hasCredentials || all[i - (i % 2)] !== "cookie",
  );
  const accept = createHash("sha1").update(`${key}${KEY_SUFFIX}`).digest("base64");
  const lines = [
    "HTTP/1.1 101 Switching Protocols",
    "upgrade: websocket",
    "connection: Upgrade",
    `sec-websocket-accept: ${accept}`,
    `sec-websocket-protocol: ${SUBPROTOCOL}`,
  ];
  return {
    handshake: Buffer.from(`${lines.join("\r\n")}\r\n\r\n`),
    inherit: (list) => [...list.filter((_, i) => !INHERITED.includes(list[i - (i % 2)] as string)), ...inherited],
  };
}
