/** Ours, with sub-protocol B. */
import { createTransport } from "triple-es/node";
import { echoRequest, repeatCount } from "../echo.ts";
import { createEchoServiceClient } from "../gen/echo_triple.ts";
import { answerCalls, checkEcho, checkRepeat } from "./caller.ts";

answerCalls((baseUrl) => {
  const client = createEchoServiceClient(createTransport({ baseUrl }));
  return {
    echo: async () => checkEcho(await client.echo(echoRequest)),
    repeat: () => checkRepeat(client.repeat({ count: repeatCount })),
  };
});
