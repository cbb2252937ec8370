/** The state of a socket and of the HTTP/2 connection on it, for channelz. */
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { NO_BYTES } from "../../call/bytes.ts";
import type { SocketState } from "../../http/channel-state.ts";
import type { EngineConnection } from "../../http2/connection.ts";

export function socketState(key: object, socket: Socket, engine?: EngineConnection): SocketState {
  return {
    key,
    local: { address: socket.localAddress, port: socket.localPort },
    remote: { address: socket.remoteAddress, port: socket.remotePort },
    // The certificates take longer than all else, and lists of sockets do not have them.
    get tls() {
      return socket instanceof TLSSocket && socket.getCipher() ? tlsState(socket) : undefined;
    },
    http2: engine && {
      streams: engine.streams.counts,
      keepAlives: engine.keepAlives,
      sendWindow: engine.streams.scheduler.window,
      receiveWindow: engine.streams.windows.connection.left,
    },
  };
}

function tlsState(socket: TLSSocket): NonNullable<SocketState["tls"]> {
  return {
    cipher: socket.getCipher().standardName,
    local: socket.getX509Certificate()?.raw ?? NO_BYTES,
    remote: socket.getPeerX509Certificate()?.raw ?? NO_BYTES,
  };
}
