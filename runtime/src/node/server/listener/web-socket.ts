/**
 * The opening handshake of WebSockets that carry HTTP/2, the subprotocol `h2ts`: over HTTP/1.1 (RFC 6455, section 4.2), and on a
 * stream of HTTP/2 (RFC 8441, section 5).
 */
import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { NO_BYTES } from "../../../call/bytes.ts";
import { Metadata } from "../../../call/metadata.ts";
import type { PeerConnection } from "../../../call/peer.ts";
import { onAbort } from "../../../call/timer.ts";
import type { HttpRequest, HttpResponse } from "../../../http/exchange.ts";
import { MessageError, malformed } from "../../../http1/error.ts";
import type { RequestHead } from "../../../http1/request.ts";
import { ErrorCode } from "../../../http2/codes.ts";
import type { Stream } from "../../../http2/stream.ts";
import { isOriginOfHost } from "../../../protocol/headers.ts";
import type { OriginPolicy } from "../../../protocol/options.ts";
import { SUBPROTOCOL } from "../../../websocket/tunnel.ts";
import { pump, readableBody } from "../../io/body.ts";
import { MemorySocket } from "../../io/duplex-pair.ts";
import { type ReceivedRequest, refusal } from "./request.ts";

const HANDSHAKE_VERSION = "13";
const PROTOCOL = "sec-websocket-protocol";
/** Appended to the key of the client (section 1.3). */
const KEY_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** 16 bytes in base64. */
const KEY = /^[A-Za-z0-9+/]{22}==$/;

/** Fields that a browser or a proxy adds to the request of a WebSocket. The page can forge them in the calls inside. */
const INHERITED = ["cookie", "origin", "forwarded", "x-forwarded-for"];

/** An accepted WebSocket. */
export interface WebSocketUpgrade {
  /** The response over HTTP/1.1. */
  readonly handshake: Uint8Array;
  /** The client, if the socket does not tell it. */
  readonly peer?: PeerConnection;
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
  const headers = Metadata.fromRaw(fields);
  const opens = method === "GET" && minor === 1 && lists(headers, "connection", "upgrade");
  if (!opens || !lists(headers, "upgrade", "websocket") || !lists(headers, PROTOCOL, SUBPROTOCOL)) return undefined;
  const inherit = check(headers, headers.get("host"), peer, allowsOrigin);
  const key = headers.get("sec-websocket-key") ?? "";
  if (!KEY.test(key) || length !== 0) throw malformed("a WebSocket needs the header sec-websocket-key, and no body");
  const accept = createHash("sha1").update(`${key}${KEY_SUFFIX}`).digest("base64");
  const lines = [
    "HTTP/1.1 101 Switching Protocols",
    "upgrade: websocket",
    "connection: Upgrade",
    `sec-websocket-accept: ${accept}`,
    `${PROTOCOL}: ${SUBPROTOCOL}`,
  ];
  return { handshake: Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), inherit };
}

/** Answers a CONNECT with `:protocol`. `accept` takes the other end of the stream over, as the socket of the WebSocket. */
export function answerConnect(
  { headers, authority = headers.get("host"), peer, body, signal, stream }: HttpRequest & ReceivedRequest<Stream>,
  protocol: string,
  allowsOrigin: OriginPolicy,
  accept: (socket: Socket, upgrade: WebSocketUpgrade) => void,
): HttpResponse {
  try {
    if (protocol !== "websocket" || !lists(headers, PROTOCOL, SUBPROTOCOL)) {
      throw new MessageError(501, `only WebSockets of the subprotocol ${SUBPROTOCOL} are connected`);
    }
    const inherit = check(headers, authority, peer, allowsOrigin);
    // Bytes that the client has not read are unsent for the connection inside, which counts them in the memory budget.
    const [near, far] = MemorySocket.pair(1);
    near.identify(peer);
    const cancel = (): void => void far.destroy();
    far.on("error", cancel);
    far.once("close", onAbort(signal, cancel));
    // Also if nothing is read from it, because the client gives no credit.
    far.once("close", () => far.readableEnded || stream.reset(ErrorCode.Cancel));
    accept(near as Duplex as Socket, { handshake: NO_BYTES, inherit, peer });
    pump(body, far).catch(cancel);
    return {
      status: 200,
      headers: new Metadata({ [PROTOCOL]: SUBPROTOCOL }),
      body: readableBody(far, () => false),
      trailers: new Metadata(),
    };
  } catch (reason) {
    const { status, message, fields } = reason as MessageError;
    // HTTP/2 has no field upgrade, which is the first one.
    return refusal(new MessageError(status, message, fields.slice(2)));
  }
}

/** Reports whether a field with a list has a token. */
function lists(headers: Metadata, name: string, token: string): boolean {
  return headers.getAll(name).some((value) => value.split(",").some((one) => one.trim().toLowerCase() === token));
}

/** Checks the version and the origin of a WebSocket. Returns {@link WebSocketUpgrade.inherit}. */
function check(
  headers: Metadata,
  host: string | undefined,
  peer: PeerConnection,
  allowsOrigin: OriginPolicy,
): WebSocketUpgrade["inherit"] {
  if (headers.get("sec-websocket-version") !== HANDSHAKE_VERSION) {
    const fields = ["upgrade", "websocket", "sec-websocket-version", HANDSHAKE_VERSION];
    throw new MessageError(426, `the version of the WebSocket must be ${HANDSHAKE_VERSION}`, fields);
  }
  const origin = headers.get("origin");
  const isOwn = origin === undefined || isOriginOfHost(origin, host);
  const hasCredentials = isOwn || allowsOrigin(origin, true);
  // A browser adds cookies and certificates without a question. Cookies can be dropped.
  if (!hasCredentials && (peer.tls?.verified || !allowsOrigin(origin, false))) {
    throw new MessageError(403, `pages of the origin ${origin} may not call this server (option cors)`);
  }
  const inherited = INHERITED.flatMap((name) => headers.getAll(name).flatMap((value) => [name, value])).filter(
    (_, i, all) => hasCredentials || all[i - (i % 2)] !== "cookie",
  );
  return (list) => [...list.filter((_, i) => !INHERITED.includes(list[i - (i % 2)] as string)), ...inherited];
}
