import { Controller, Get } from "@nestjs/common";
import { Orders } from "./orders.ts";

/** An HTTP controller beside the RPC methods. */
@Controller("sales")
export class SalesController {
  constructor(private readonly orders: Orders) {}

  @Get()
  read(): { orders: number } {
    return { orders: this.orders.count };
  }
}
