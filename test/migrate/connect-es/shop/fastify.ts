import { cors as connectCors } from "@connectrpc/connect";
import { fastifyConnectPlugin } from "@connectrpc/connect-fastify";
import { fastify } from "fastify";
import { logger } from "../eliza/interceptors.js";
import routes from "../eliza/routes.js";

export async function build() {
  const server = fastify();
  await server.register(fastifyConnectPlugin, {
    routes,
    interceptors: [logger],
  });
  server.get("/", (_, reply) => {
    reply.header("access-control-allow-headers", connectCors.allowedHeaders.join(", "));
    reply.send("Hello World!");
  });
  return server;
}
