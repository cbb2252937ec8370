/** `@connectrpc/connect-node` with its gRPC transport. */
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { echoRequest, repeatCount } from "../../messages/echo.ts";
import { EchoService } from "../../messages/gen/echo_pb.ts";
import { answerCalls, checkEcho, checkRepeat } from "./caller.ts";

answerCalls((baseUrl) => {
  const client = createClient(EchoService, createGrpcTransport({ baseUrl }));
  return {
    echo: async () => checkEcho(await client.echo(echoRequest)),
    repeat: () => checkRepeat(client.repeat({ count: repeatCount })),
  };
});
