import * as grpc from "@grpc/grpc-js";
import { ElizaServiceService } from "../gen/eliza/v1/eliza_grpc_pb";
import { ShopServiceService } from "../gen/shop/v1/shop";
import { shop } from "../shop/handlers";
import { Eliza } from "./handlers";

export function createElizaServer(): grpc.Server {
  const server = new grpc.Server({ "grpc.max_receive_message_length": 1 << 20, "grpc.max_send_message_length": -1 });
  server.addService(ElizaServiceService, new Eliza());
  server.addService(ShopServiceService, shop);
  return server;
}

export function start(server: grpc.Server, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`${host}:0`, grpc.ServerCredentials.createInsecure(), (err, port) => {
      if (err) {
        reject(err);
        return;
      }
      resolve(port);
    });
  });
}

export function main(): void {
  const server = createElizaServer();
  server.bindAsync("0.0.0.0:50051", grpc.ServerCredentials.createInsecure(), (err: Error | null, port: number) => {
    if (err) {
      console.error(`Server error: ${err.message}`);
    } else {
      console.log(`Server bound on port: ${port}`);
      server.start();
    }
  });
  process.once("SIGTERM", () => server.tryShutdown(() => process.exit(0)));
}
