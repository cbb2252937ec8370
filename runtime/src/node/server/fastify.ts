/**
 * A plugin for Fastify that serves an exchange in addition to the application's routes.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { ContextValues } from "../../call/call.ts";
import { createNodeHandler, type NodeRequest, type ServedExchange } from "./adapter.ts";
import type { TrustProxyOptions } from "./trusted-proxies.ts";

export interface FastifyHandlerOptions {
  /**
   * Creates the values of each call's context from Fastify's request, including the properties that hooks and plugins have
   * added. Called when interceptors or the handler first read `context.values`. Default: no values.
   */
  readonly values?: ((request: FastifyRequest) => ContextValues) | undefined;
  /** The option `trustProxy` of `createServer`. Fastify's option with the same name has no effect. Default: none. */
  readonly trustProxy?: TrustProxyOptions | undefined;
}

/** An exchange with the services that it answers. A router is one. */
interface RoutedExchange extends ServedExchange {
  readonly services: readonly { readonly service: { readonly typeName: string } }[];
}

/**
 * Adds a route for each service. Fastify's hooks and response headers apply. Its body parsers and its option `bodyLimit` do
 * not apply. Throws a `TypeError` for an invalid option.
 */
export function addRoutes(
  app: FastifyInstance,
  served: RoutedExchange,
  { values, trustProxy }: FastifyHandlerOptions,
): void {
  const requests = new WeakMap<NodeRequest, FastifyRequest>();
  const valuesOf = values && ((raw: NodeRequest) => values(requests.get(raw) as FastifyRequest));
  const handle = createNodeHandler(served, { prefix: app.prefix, trustProxy, values: valuesOf });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, parsed) => parsed(null));
  for (const name of new Set(served.services.map(({ service }) => service.typeName))) {
    app.all(`/${name}/*`, (request, reply) => {
      reply.hijack();
      if (values !== undefined) requests.set(request.raw, request);
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) reply.raw.setHeader(name, value);
      }
      handle(request.raw, reply.raw);
    });
  }
}
