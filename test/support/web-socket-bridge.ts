/** A gateway of the subprotocol `h2ts`: it forwards the bytes of each WebSocket to a port of HTTP/2 with prior knowledge. */
import { once } from "node:events";
import { connect } from "node:net";
import { onTestFinished } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";

export interface Bridge {
  readonly baseUrl: string;
  /** The WebSockets that have been accepted, in order. */
  readonly sockets: readonly WebSocket[];
  /** The messages that have been received. */
  readonly received: readonly Buffer[];
}

/** Starts the gateway. It is closed at the end of the test, unless the caller is none and closes it. */
export async function startBridge(port: number): Promise<Bridge & { close(): void }> {
  const server = new WebSocketServer({
    port: 0,
    host: "127.0.0.1",
    handleProtocols: (names) => names.has("h2ts") && "h2ts",
  });
  const sockets: WebSocket[] = [];
  const received: Buffer[] = [];
  server.on("connection", (socket) => {
    sockets.push(socket);
    const upstream = connect(port, "127.0.0.1");
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

/** Starts the gateway, and closes it at the end of the test. */
export async function bridgeTo(port: number): Promise<Bridge> {
  const bridge = await startBridge(port);
  onTestFinished(() => bridge.close());
  return bridge;
}
