/** Ours, with sub-protocol B. */
import { createTransport } from "triple-es/node";
import { echoRequest } from "../echo.ts";
import { createEchoServiceClient } from "../gen/echo_triple.ts";
import { answerCalls, checkEcho } from "./caller.ts";

answerCalls((baseUrl) => {
  const client = createEchoServiceClient(createTransport({ baseUrl }));
  return async () => checkEcho(await client.echo(echoRequest));
});
