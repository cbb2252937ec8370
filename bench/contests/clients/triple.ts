/** triple-es with both sub-protocols: B with protobuf, A with JSON. */
import { createTransport } from "triple-es/node";
import { echoRequest, repeatCount } from "../../messages/echo.ts";
import { createEchoServiceClient } from "../../messages/gen/echo_triple.ts";
import { answerCalls, checkEcho, checkRepeat } from "./caller.ts";

answerCalls((baseUrl, protocol) => {
  const codec = protocol === "grpc" ? "proto" : "json";
  const client = createEchoServiceClient(createTransport({ baseUrl, protocol, codec }));
  return {
    echo: async () => checkEcho(await client.echo(echoRequest)),
    repeat: () => checkRepeat(client.repeat({ count: repeatCount })),
  };
});
