/**
 * Registries behind whose address is a server of another kind, or one that does not answer: errors of calls name the
 * address.
 */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createTransport } from "triple-es/node";
import { etcd } from "triple-es-dubbo/etcd";
import { nacos } from "triple-es-dubbo/nacos";
import { zookeeper } from "triple-es-dubbo/zookeeper";
import { describe, expect, it, onTestFinished } from "vitest";
import { createGreetServiceClient } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { failureOf } from "../../support/server.ts";

const registries = {
  etcd: (port: number) => etcd({ servers: [`127.0.0.1:${port}`] }),
  nacos: (port: number) => nacos({ servers: [`127.0.0.1:${port}`], grpcPort: port }),
  zookeeper: (port: number) => zookeeper({ servers: [`127.0.0.1:${port}`] }),
};

const servers: Record<string, () => Server> = {
  "an HTTP server": () => createHttpServer((_request, response) => response.end("hello")),
  "a server that does not answer": () => createServer(),
};

describe.each(Object.keys(servers))("with %s behind the address", (kind) => {
  it.each(Object.entries(registries))(
    "of %s, the error of a call whose deadline passes names the address",
    async (_, connect) => {
      const server = servers[kind]?.() as Server;
      const sockets = new Set<Socket>();
      server.on("connection", (socket: Socket) => {
        sockets.add(socket);
        socket.on("error", () => {});
      });
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      const registry = connect(port);
      const transport = createTransport({ protocol: "grpc", registry });
      onTestFinished(async () => {
        for (const socket of sockets) socket.destroy();
        server.close();
        await transport.close();
        await registry.close();
      });
      const error = await failureOf(
        createGreetServiceClient(transport).greet({}, { timeoutMs: 300, waitForReady: true }),
      );
      expect(error.message).toContain("deadline of 300 ms");
      expect(error.message).toContain(`127.0.0.1:${port}`);
    },
  );
});
