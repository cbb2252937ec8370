import { Module } from "@nestjs/common";
import { Customers } from "./customer.guard.ts";
import { Orders } from "./orders.ts";
import { SalesController } from "./sales.controller.ts";
import { ShopController } from "./shop.controller.ts";

@Module({ controllers: [SalesController, ShopController], providers: [Customers, Orders] })
export class AppModule {}
