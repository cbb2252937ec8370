/** A gateway of the subprotocol `h2ts`: it forwards the bytes of each WebSocket to a port of HTTP/2 with prior knowledge. */
import { once } from "node:events";
import { connect } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";

export interface Bridge {
  readonly baseUrl: string;
  /** The WebSockets that have been accepted, in order. */
  readonly sockets: readonly WebSocket[];
  /** The messages that have been received. */
  readonly received: readonly Buffer[];
  /** Ends all WebSockets, and accepts no more. */
  close(): void;
}

/** Starts the gateway, to this port, or to that which the path of each WebSocket names. */
export async function startBridge(port?: number): Promise<Bridge> {
  const server = new WebSocketServer({
    port: 0,
    host: "127.0.0.1",
    handleProtocols: (names) => names.has("h2ts") && "h2ts",
  });
  const sockets: WebSocket[] = [];
  const received: Buffer[] = [];
  server.on("connection", (socket, { url = "" }) => {
    sockets.push(socket);
    const upstream = connect(port ?? Number(url.slice(1)), "127.0.0.1");
    socket.on("message", (data: Buffer) => {
      received.push(data);
      upstream.write(data);
    });
    upstream.on("data", (data) => socket.send(data));
    upstream.on("end", () => socket.close(1000));
    upstream.on("error", () => socket.terminate());
    socket.on("close", () => upstream.destroy());
    socket.on("error", () => {});
  });
  await once(server, "listening");
  const address = server.address() as { readonly port: number };
  const close = (): void => {
    for (const socket of sockets) socket.terminate();
    server.close();
  };
  return { baseUrl: `http://127.0.0.1:${address.port}`, sockets, received, close };
}
