/**
 * Entry point `triple-es/fastify`: a plugin that serves a router among Fastify's own routes.
 */
import type { FastifyPluginCallback } from "fastify";
import { nodeHandler } from "./node.ts";
import type { Router } from "./server/router.ts";

export interface FastifyRpcOptions {
  /** The router to serve. Add its services before Fastify loads the plugin. */
  readonly router: Router;
}

/**
 * A Fastify plugin: `app.register(fastifyRpc, { router })`, optionally with a `prefix`. Over HTTP/1.1 it speaks
 * sub-protocol A; with Fastify's option `http2` it speaks both.
 *
 * Hooks and headers of Fastify apply. Its body parsers and its `bodyLimit` do not: the router decodes messages itself
 * and has its own limits.
 */
export const fastifyRpc: FastifyPluginCallback<FastifyRpcOptions> = (app, { router }, done) => {
  const handle = nodeHandler(router, { prefix: app.prefix });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, parsed) => parsed(null));
  for (const name of new Set(router.services.map(({ service }) => service.typeName))) {
    app.all(`/${name}/*`, (request, reply) => {
      reply.hijack();
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) reply.raw.setHeader(name, value);
      }
      handle(request.raw, reply.raw);
    });
  }
  done();
};
