/**
 * Connecting to servers of HTTP/2 over sockets.
 */
import type { TLSSocket } from "node:tls";
import type { Connect, Connection } from "../../connection/connection.ts";
import { Http2Connection } from "../../connection/http2-connection.ts";
import type { SocketState } from "../../http/channel-state.ts";
import type { EngineConnection } from "../../http2/connection.ts";
import { socketState } from "../io/socket-state.ts";
import { establish, type Target, usesAlpn } from "./socket.ts";

/** The cause for a server that selects no protocol by ALPN. Servers of HTTP/1.1 do so, and few of HTTP/2. */
const NO_ALPN = new Error(
  "the server did not negotiate HTTP/2 by ALPN (if it speaks HTTP/2 nevertheless, set tls.ALPNProtocols to [])",
);

/** Creates a function that connects to a server. `timeoutMs` limits the time for making a connection, TLS included. */
export function connectHttp2(target: Target, timeoutMs: number): Connect {
  /** True if the server has answered, so that it is known to speak HTTP/2 with or without TLS as configured. */
  let hasAnswered = false;
  return (owner, signal) => {
    const attempt = { version: "HTTP/2", timeoutMs, hasAnswered, signals: [signal] } as const;
    return establish<Connection>(target, attempt, (socket, done, fail) => {
      // RFC 9113, section 3.2
      if (usesAlpn(target)) {
        socket.once("secureConnect", () => (socket as TLSSocket).alpnProtocol === false && socket.destroy(NO_ALPN));
      }
      const stateOf = (key: object, engine: EngineConnection): SocketState => socketState(key, socket, engine);
      const connection = new Http2Connection(socket, { ...target, stateOf }, owner, {
        // The event "connect" shows only that the kernel accepted the connection. The SETTINGS frame shows that the server
        // speaks HTTP/2, and contains its limits.
        onReady() {
          hasAnswered = true;
          done(connection);
        },
        onFailed: fail,
      });
    });
  };
}
