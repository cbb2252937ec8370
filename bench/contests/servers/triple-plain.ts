/** triple-es with code that was generated without `codecs`: protobuf-es encodes and decodes messages. */
import type { ServiceDef } from "triple-es";
import { createServer } from "triple-es/node";
import { echoRequest } from "../../messages/echo.ts";
import { type EchoServiceClient, EchoServiceDef, type EchoServiceHandler } from "../../messages/gen/echo_triple.ts";
import { announcePort, loopback } from "./port.ts";

const methods = Object.entries(EchoServiceDef.methods).map(([name, method]) => [
  name,
  { ...method, codecs: undefined },
]);
const def: ServiceDef<EchoServiceClient, EchoServiceHandler> = {
  ...EchoServiceDef,
  methods: Object.fromEntries(methods) as unknown as typeof EchoServiceDef.methods,
};

const server = createServer().add(def, {
  echo: (request) => request,
  echoOrder: (request) => request,
  echoBlob: (request) => request,
  async *talk(requests) {
    for await (const request of requests) yield request;
  },
  async *repeat({ count }) {
    for (let i = 0; i < count; i++) yield echoRequest;
  },
});
await server.listen({ port: 0, host: loopback });
announcePort(server.address.port);
