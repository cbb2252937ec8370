import { Module } from "@nestjs/common";
import { Authentication } from "./authentication.ts";
import { Customers } from "./customers.ts";
import { RpcServer } from "./rpc.server.ts";
import { SalesController } from "./sales.controller.ts";
import { Sales } from "./sales.ts";
import { ShopService } from "./shop.service.ts";

@Module({
  controllers: [SalesController],
  providers: [Authentication, Customers, RpcServer, Sales, ShopService],
})
export class AppModule {}
