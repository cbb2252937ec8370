/**
 * The door for Fastify: a plug-in that answers the calls of a router among Fastify's own routes.
 */
import type { FastifyPluginCallback } from "fastify";
import { nodeHandler } from "./node.ts";
import type { Router } from "./server/router.ts";

export interface FastifyRpcOptions {
  /** What answers. Its services must have been added before Fastify loads the plug-in. */
  readonly router: Router;
}

/**
 * A Fastify plug-in: `app.register(fastifyRpc, { router })`, with a `prefix` if there is to be one. Over HTTP/1.1 it
 * speaks sub-protocol A; with Fastify's option `http2` it speaks both.
 *
 * Hooks and headers of Fastify apply. Its body parsers, and thereby its `bodyLimit`, do not: the router decodes messages
 * itself and has limits of its own.
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
