/** Records HTTP/1.1. The bytes of a connection are text, so they are shown unchanged. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type Direction, line, type Recorder } from "./recording.ts";

/** Starts a proxy for a server on this machine. */
export async function recordHttp1(port: number): Promise<Recorder> {
  let notes: string[] = [];
  const sockets = new Set<Socket>();

  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    forward(client, upstream, "sent");
    forward(upstream, client, "received");
  });

  function forward(from: Socket, to: Socket, direction: Direction): void {
    sockets.add(from);
    from.on("data", (bytes) => {
      const text = bytes.toString().trimEnd();
      for (const one of text.split("\r\n")) notes.push(line(direction, one));
      to.write(bytes);
    });
    from.on("error", () => to.destroy());
    from.on("close", () => {
      sockets.delete(from);
      to.destroy();
    });
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async take() {
      const taken = notes;
      notes = [];
      return taken;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
