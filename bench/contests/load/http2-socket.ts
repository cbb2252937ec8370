/** A socket of the load. Received bytes are passed to a function. If the connection ends before the load, the run fails. */
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Load } from "./load.ts";

export interface SocketHandler {
  receive(chunk: Buffer): void;
  fail(error: Error): void;
}

export function openSocket(port: number, { tls = false }: Load, handler: SocketHandler): Socket {
  const callback = (length: number, buffer: Uint8Array) => {
    handler.receive(Buffer.from(buffer.buffer, buffer.byteOffset, length));
    return true;
  };
  // One buffer for all received data: it is processed before the next chunk arrives.
  const onread = { buffer: Buffer.allocUnsafeSlow(256 * 1024), callback };
  const options = { port, host: "127.0.0.1", noDelay: true, onread };
  const socket = tls ? connectTls({ ...options, ALPNProtocols: ["h2"], rejectUnauthorized: false }) : connect(options);
  socket.on("error", (error) => handler.fail(error));
  socket.on("close", () => handler.fail(new Error("the server closed the connection")));
  return socket;
}
