/**
 * Entry point `triple-es/fastify`: a Fastify plugin that serves a router in addition to the application's routes.
 *
 * @module triple-es/fastify
 */
import type { FastifyPluginAsync } from "fastify";
import { addRoutes, type FastifyHandlerOptions } from "./node/server/adapter/fastify.ts";
import type { Router } from "./server/router.ts";

export type { FastifyHandlerOptions } from "./node/server/adapter/fastify.ts";
export type { TrustProxyOptions } from "./node/server/trusted-proxies.ts";

/** Options of the plugin {@link fastifyRpc}. */
export interface FastifyRpcOptions extends FastifyHandlerOptions {
  /** The router to serve. Add its services before Fastify loads the plugin. */
  readonly router: Router;
}

/**
 * A Fastify plugin: `app.register(fastifyRpc, { router })`, optionally with a `prefix`. It serves sub-protocol A over
 * HTTP/1.1, and both sub-protocols with Fastify's option `http2`.
 *
 * Fastify's hooks and response headers apply. Its body parsers and its option `bodyLimit` do not apply: the router decodes
 * messages itself and has separate limits.
 */
export const fastifyRpc: FastifyPluginAsync<FastifyRpcOptions> = async (app, options) =>
  addRoutes(app, options.router, options);
