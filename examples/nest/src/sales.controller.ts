import { Controller, Get } from "@nestjs/common";
import { Sales } from "./sales.ts";

/** A controller beside the RPC methods. */
@Controller("sales")
export class SalesController {
  constructor(private readonly sales: Sales) {}

  @Get()
  read(): { orders: number } {
    return { orders: this.sales.count };
  }
}
