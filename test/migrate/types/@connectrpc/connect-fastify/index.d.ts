import type { ConnectRouter, ConnectRouterOptions, ContextValues } from "@connectrpc/connect";
import type { FastifyInstance, FastifyRequest } from "fastify";
interface FastifyConnectPluginOptions extends ConnectRouterOptions {
  routes?: (router: ConnectRouter) => void;
  shutdownTimeoutMs?: number;
  contextValues?: (req: FastifyRequest) => ContextValues;
}
export declare function fastifyConnectPlugin(
  instance: FastifyInstance,
  opts: FastifyConnectPluginOptions,
  done: (err?: Error) => void,
): void;
