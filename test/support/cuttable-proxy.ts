/**
 * A TCP proxy on loopback that can cut its connections, or stop forwarding as a network partition does: without their end.
 */
import { connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export interface CuttableProxy {
  readonly address: string;
  /** Forwards nothing more, and accepts connections without an answer. */
  silence(): void;
  restore(): void;
  /** Destroys all connections. New ones are forwarded, unless it is silent. */
  cut(): void;
}

export async function cuttableProxy(port: number): Promise<CuttableProxy> {
  const sockets = new Set<Socket>();
  let isSilent = false;
  const forward = (from: Socket, to: Socket): void => {
    from.on("data", (data) => {
      if (!isSilent) to.write(data);
    });
    from.on("close", () => {
      if (!isSilent) to.destroy();
    });
    from.on("error", () => {});
    sockets.add(from);
  };
  const server = createServer((socket) => {
    if (isSilent) {
      sockets.add(socket);
      socket.on("error", () => {});
      return;
    }
    const upstream = connect(port, "127.0.0.1");
    forward(socket, upstream);
    forward(upstream, socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  onTestFinished(() => {
    cut();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the proxy does not listen");
  return {
    address: `127.0.0.1:${address.port}`,
    silence() {
      isSilent = true;
    },
    restore() {
      isSilent = false;
      // Connections that were silent have lost bytes.
      cut();
    },
    cut,
  };
}
