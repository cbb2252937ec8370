import { createServer, type Server } from "nice-grpc";
import { HealthDefinition, HealthServiceImpl } from "nice-grpc-server-health";
import { ServerReflection, ServerReflectionService } from "nice-grpc-server-reflection";
import { ShopServiceDefinition } from "../gen/shop/v1/shop";
import { createAuth, loggingMiddleware } from "./server-middleware";
import { ShopImpl } from "./service";

export async function serve(): Promise<{ server: Server; port: number }> {
  const server = createServer({ "grpc.max_receive_message_length": 1 << 20 });
  server.use(loggingMiddleware);
  server.with(createAuth("secret")).add(ShopServiceDefinition, new ShopImpl());
  server.add(HealthDefinition, HealthServiceImpl());
  server.add(ServerReflectionService, ServerReflection(new Uint8Array(), [ShopServiceDefinition.fullName]));
  const port = await server.listen("127.0.0.1:0");
  return { server, port };
}
