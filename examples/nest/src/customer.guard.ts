import type { Metadata } from "@grpc/grpc-js";
import { type CanActivate, type ExecutionContext, Injectable } from "@nestjs/common";
import { RpcException } from "@nestjs/microservices";
import { Code } from "triple-es";

/** The customers by their tokens. A real shop asks its identity provider: see the example `security`. */
@Injectable()
export class Customers {
  readonly #names: ReadonlyMap<string, string> = new Map([
    ["Bearer token-of-ann", "Ann"],
    ["Bearer token-of-bob", "Bob"],
  ]);

  nameOf(metadata: Metadata): string | undefined {
    return this.#names.get(String(metadata.get("authorization")[0]));
  }
}

/** A guard of Nest, which reads the metadata of a call. */
@Injectable()
export class CustomerGuard implements CanActivate {
  constructor(private readonly customers: Customers) {}

  canActivate(context: ExecutionContext): boolean {
    if (this.customers.nameOf(context.switchToRpc().getContext()) !== undefined) return true;
    throw new RpcException({ code: Code.Unauthenticated, message: "a token of a customer is needed" });
  }
}
