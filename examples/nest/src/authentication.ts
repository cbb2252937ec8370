import { Injectable } from "@nestjs/common";
import { Code, createContextKey, type Interceptor, RpcError } from "triple-es";
import { Customers } from "./customers.ts";

/** The customer of a call. */
export const currentCustomer = createContextKey("anonymous", "customer");

/** Does for RPC what a guard does for controllers: guards of Nest are not called for RPC, interceptors of triple-es are. */
@Injectable()
export class Authentication {
  constructor(private readonly customers: Customers) {}

  readonly interceptor: Interceptor = (next) => async (request) => {
    const token = request.headers.get("authorization")?.replace(/^Bearer /i, "") ?? "";
    const name = this.customers.nameOf(token);
    if (name === undefined) throw new RpcError(Code.Unauthenticated, "a token of a customer is needed");
    request.context.values.set(currentCustomer, name);
    return next(request);
  };
}
