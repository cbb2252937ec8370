/** triple-es with both sub-protocols on one port. */
import { Code, type Interceptor, RpcError, type ServiceDef } from "triple-es";
import { createServer, type ServerOptions } from "triple-es/node";
import { Latencies } from "../../latencies.ts";
import { echoRequest } from "../../messages/echo.ts";
import { EchoService_echo, EchoServiceDef } from "../../messages/gen/echo_triple.ts";
import { METHODS_PER_SERVICE, methodName, serviceName } from "../../messages/methods.ts";
import { announcePort, loopback } from "./port.ts";
import { methodCount, setup, tls } from "./setup.ts";

/** Refuses calls without a token, as `grpc-js.ts` does. */
const authorize: Interceptor = (next) => (request) => {
  if (request.headers.get("authorization") === undefined) throw new RpcError(Code.Unauthenticated, "no token");
  return next(request);
};

/** Measures calls, and returns the request number. */
const observe: Interceptor = (next) => async (request) => {
  const start = performance.now();
  const id = request.headers.get("x-request-id");
  const response = await next(request);
  if (id !== undefined) response.headers.set("x-request-id", id);
  durations.record(performance.now() - start);
  return response;
};
const durations = new Latencies();

const options: ServerOptions = {
  ...(tls !== undefined && { tls }),
  ...(setup === "interceptors" && { interceptors: [authorize, observe] }),
  ...(setup === "many-streams" && { limits: { maxStreams: 500, maxHandlers: 1_000 } }),
};
const server = createServer(options).add(EchoServiceDef, {
  echo: (request) => request,
  echoOrder: (request) => request,
  echoBlob: (request) => request,
  *repeat({ count }) {
    for (let i = 0; i < count; i++) yield echoRequest;
  },
  async *talk(requests) {
    for await (const request of requests) yield request;
  },
});
addMethods();
await server.listen({ port: 0, host: loopback });
announcePort(server.address.port);

/** Adds the services of `methods.ts`. */
function addMethods(): void {
  for (let first = 0; first < methodCount; first += METHODS_PER_SERVICE) {
    const typeName = serviceName(first);
    const names = Array.from({ length: Math.min(METHODS_PER_SERVICE, methodCount) }, (_, i) => methodName(first + i));
    const methods = names.map((name) => {
      return [name, { ...EchoService_echo, service: typeName, name, path: `/${typeName}/${name}` }] as const;
    });
    const def = { typeName, methods: Object.fromEntries(methods) } as unknown as ServiceDef<object, object>;
    server.add(def, Object.fromEntries(names.map((name) => [name, (request: unknown) => request])));
  }
}
