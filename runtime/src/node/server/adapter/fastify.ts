/**
 * A plugin for Fastify that serves an exchange in addition to the application's routes.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ContextValues } from "../../../call/call.ts";
import { assertFunctions } from "../../../call/option.ts";
import { pathsBelow } from "../../../http/path-prefix.ts";
import type { TrustProxyOptions } from "../trusted-proxies.ts";
import { createNodeHandler, type NodeRequest, type ServedExchange } from "./adapter.ts";

/** The value of the constraint for requests that the exchange serves. */
const SERVED = "served";

/** Options of the Fastify plugin, other than its router. */
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

/** The number of routers that have been added to Fastify, which names their constraints. */
let count = 0;

/**
 * Adds a route for each service, and one for all other requests that the exchange serves, such as routes of REST and probes.
 * Routes of the application that match the same path take precedence over the latter. Fastify's hooks and response headers
 * apply. Its body parsers and its option `bodyLimit` do not apply. Throws a `TypeError` for an invalid option.
 */
export function addRoutes(
  app: FastifyInstance,
  served: RoutedExchange,
  { values, trustProxy }: FastifyHandlerOptions,
): void {
  assertFunctions({ values });
  const requests = new WeakMap<NodeRequest, FastifyRequest>();
  const valuesOf = values && ((raw: NodeRequest) => values(requests.get(raw) as FastifyRequest));
  const handle = createNodeHandler(served, { prefix: app.prefix, trustProxy, values: valuesOf });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, parsed) => parsed(null));
  const answer = (request: FastifyRequest, reply: FastifyReply): void => {
    reply.hijack();
    if (values !== undefined) requests.set(request.raw, request);
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) reply.raw.setHeader(name, value);
    }
    handle(request.raw, reply.raw);
  };
  for (const name of new Set(served.services.map(({ service }) => service.typeName))) app.all(`/${name}/*`, answer);
  const constraint = servedBy(served, app.prefix);
  app.addConstraintStrategy(constraint);
  app.all("/*", { constraints: { [constraint.name]: SERVED } }, answer);
}

type Constraint = Parameters<FastifyInstance["addConstraintStrategy"]>[0];
type Route = Parameters<ReturnType<Constraint["storage"]>["set"]>[1];

/**
 * Creates a constraint for the requests that the exchange serves. With it, a route for all paths leaves other requests to the
 * application, including its own route for all paths and its handler for missing routes.
 */
function servedBy(served: ServedExchange, prefix: string): Constraint {
  const pathOf = pathsBelow(prefix);
  return {
    // Fastify compiles a function with this name in it, so it must be an identifier.
    name: `tripleEs${++count}`,
    storage: () => {
      const routes = new Map<unknown, Route>();
      return { get: (value) => routes.get(value) ?? null, set: (value, route) => void routes.set(value, route) };
    },
    deriveConstraint: ({ method = "", url = "" }) =>
      served.serves({ method, path: pathOf(url) }) ? SERVED : undefined,
  };
}
