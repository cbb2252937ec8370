/** Ours: both sub-protocols on one port. */
import { createServer } from "triple-es/node";
import { echoRequest } from "../echo.ts";
import { EchoServiceDef } from "../gen/echo_triple.ts";
import { announcePort, loopback } from "./port.ts";

const server = createServer().add(EchoServiceDef, {
  echo: (request) => request,
  echoOrder: (request) => request,
  async *repeat({ count }) {
    for (let i = 0; i < count; i++) yield echoRequest;
  },
});
await server.listen({ port: 0, host: loopback });
announcePort(server.address.port);
