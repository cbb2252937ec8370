import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from "@nestjs/common";
import { createRouter, createServer, type NodeHandler, nodeHandler } from "triple-es/node";
import { ShopServiceDef } from "../../gen/shop/v1/shop_triple.ts";
import { Authentication } from "./authentication.ts";
import { ShopService } from "./shop.service.ts";

/** Serves the providers, with the lifecycle of the application. */
@Injectable()
export class RpcServer implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #logger = new Logger(RpcServer.name);
  readonly #server;
  /** Serves the same methods in Nest's HTTP server: HTTP RPC and gRPC-Web, which pages call. */
  readonly handler: NodeHandler;

  constructor(shop: ShopService, authentication: Authentication) {
    const options = { interceptors: [authentication.interceptor] };
    const onError = (error: unknown, path: string): void => this.#logger.error(path, error);
    this.#server = createServer({ ...options, onError }).add(ShopServiceDef, shop);
    this.handler = nodeHandler(createRouter({ ...options, onError }).add(ShopServiceDef, shop));
  }

  /** gRPC needs HTTP/2, so it has a port of its own. */
  async onApplicationBootstrap(): Promise<void> {
    await this.#server.listen({ port: Number(process.env["RPC_PORT"] ?? 50051) });
    this.#logger.log(`gRPC at http://localhost:${this.#server.address.port}`);
  }

  /** Nest calls it before it closes its HTTP server. Calls have five seconds to end. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.#server.close({ graceMs: 5_000 });
    this.#logger.log("gRPC is closed");
  }
}
