import "reflect-metadata";
import { NestFactory } from "@nestjs/core";
import type { MicroserviceOptions } from "@nestjs/microservices";
import { TripleServer } from "triple-es-nest";
import { ShopServiceDef } from "../../gen/shop/v1/shop_triple.ts";
import { AppModule } from "./app.module.ts";

const app = await NestFactory.create(AppModule);
const strategy = new TripleServer({
  services: [ShopServiceDef],
  url: `localhost:${process.env["RPC_PORT"] ?? 50051}`,
});
app.connectMicroservice<MicroserviceOptions>({ strategy });
app.enableShutdownHooks();
await app.startAllMicroservices();
await app.listen(Number(process.env["PORT"] ?? 3000));
console.log(`HTTP at ${(await app.getUrl()).replace("[::1]", "localhost")}`);
console.log(`RPC at http://localhost:${strategy.unwrap().address.port}`);
