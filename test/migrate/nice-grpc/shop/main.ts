import { createServer } from "nice-grpc";
import { ShopServiceDefinition } from "../gen/shop/v1/shop";
import { ShopImpl } from "./service";
import { loggingMiddleware } from "./server-middleware";

const server = createServer().use(loggingMiddleware);

server.add(ShopServiceDefinition, new ShopImpl());

export async function start(): Promise<void> {
  const address = `0.0.0.0:${process.env.PORT ?? 8080}`;
  await server.listen(address);
  process.on("SIGTERM", async () => {
    await server.shutdown();
    process.exit();
  });
}
