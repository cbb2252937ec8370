/**
 * Entry point `triple-es/fastify`: a Fastify plugin that serves a router in addition to the application's routes.
 */
import type { FastifyPluginCallback, FastifyRequest } from "fastify";
import type { ContextValues } from "./call/call.ts";
import { type NodeRequest, nodeHandler, type TrustProxyOptions } from "./node.ts";
import type { Router } from "./server/router.ts";

export interface FastifyRpcOptions {
  /** The router to serve. Add its services before Fastify loads the plugin. */
  readonly router: Router;
  /**
   * Creates the values of each call's context from Fastify's request, including the properties that hooks and plugins have
   * added. Called when interceptors or the handler first read `context.values`. Default: no values.
   */
  readonly values?: ((request: FastifyRequest) => ContextValues) | undefined;
  /** The option `trustProxy` of `createServer`. Fastify's option with the same name has no effect. Default: none. */
  readonly trustProxy?: TrustProxyOptions | undefined;
}

/**
 * A Fastify plugin: `app.register(fastifyRpc, { router })`, optionally with a `prefix`. It serves sub-protocol A over
 * HTTP/1.1, and both sub-protocols with Fastify's option `http2`.
 *
 * Fastify's hooks and response headers apply. Its body parsers and its option `bodyLimit` do not apply: the router decodes
 * messages itself and has separate limits.
 */
export const fastifyRpc: FastifyPluginCallback<FastifyRpcOptions> = (app, options, done) => {
  const { router, values, trustProxy } = options;
  const requests = new WeakMap<NodeRequest, FastifyRequest>();
  const valuesOf = values && ((raw: NodeRequest) => values(requests.get(raw) as FastifyRequest));
  const handle = nodeHandler(router, { prefix: app.prefix, trustProxy, values: valuesOf });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, parsed) => parsed(null));
  for (const name of new Set(router.services.map(({ service }) => service.typeName))) {
    app.all(`/${name}/*`, (request, reply) => {
      reply.hijack();
      if (values !== undefined) requests.set(request.raw, request);
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) reply.raw.setHeader(name, value);
      }
      handle(request.raw, reply.raw);
    });
  }
  done();
};
