/** Ours: both sub-protocols on one port. */
import { createServer } from "triple-es/node";
import { EchoServiceDef } from "../gen/echo_triple.ts";
import { announcePort, loopback } from "./port.ts";

const server = createServer().add(EchoServiceDef, { echo: (request) => request });
await server.listen({ port: 0, host: loopback });
announcePort(server.address.port);
