/** `@connectrpc/connect-node` as a gRPC server. */
import { createServer } from "node:http2";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { echoRequest } from "../../messages/echo.ts";
import { EchoService } from "../../messages/gen/echo_pb.ts";
import { listen } from "./port.ts";

const adapter = connectNodeAdapter({
  routes: (router) =>
    router.service(EchoService, {
      echo: (request) => request,
      echoBlob: (request) => request,
      async *repeat({ count }) {
        for (let i = 0; i < count; i++) yield echoRequest;
      },
      async *talk(requests) {
        for await (const request of requests) yield request;
      },
    }),
});
await listen(createServer(adapter));
