/**
 * Entry point `triple-es/fastify`: a plugin that serves a router among Fastify's own routes.
 */
import type { FastifyPluginCallback, FastifyRequest } from "fastify";
import type { ContextValues } from "./call/call.ts";
import { type NodeRequest, nodeHandler, type TrustProxyOptions } from "./node.ts";
import type { Router } from "./server/router.ts";

export interface FastifyRpcOptions {
  /** The router to serve. Add its services before Fastify loads the plugin. */
  readonly router: Router;
  /**
   * Makes the values of each call's context, from Fastify's request, with all that its hooks and plugins have added. Called when
   * interceptors or the handler first read `context.values`. Default: no values.
   */
  readonly values?: ((request: FastifyRequest) => ContextValues) | undefined;
  /** As that of `createServer`. Fastify's own option of that name does not apply. Default: none. */
  readonly trustProxy?: TrustProxyOptions | undefined;
}

/**
 * A Fastify plugin: `app.register(fastifyRpc, { router })`, optionally with a `prefix`. Over HTTP/1.1 it speaks
 * sub-protocol A; with Fastify's option `http2` it speaks both.
 *
 * Hooks and headers of Fastify apply. Its body parsers and its `bodyLimit` do not: the router decodes messages itself
 * and has its own limits.
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
