/** `@grpc/grpc-js`, messages by `@grpc/proto-loader`. */
import { credentials } from "@grpc/grpc-js";
import { echoRequest } from "../echo.ts";
import { EchoServiceClient } from "../grpc-js.ts";
import { answerCalls, checkEcho } from "./caller.ts";

const { $typeName: _, ...request } = echoRequest;

answerCalls((baseUrl) => {
  const client = new EchoServiceClient(new URL(baseUrl).host, credentials.createInsecure());
  const call = () =>
    new Promise<typeof request | undefined>((resolve, reject) => {
      client.echo(request, (error, answer) => (error === null ? resolve(answer) : reject(error)));
    });
  return async () => checkEcho(await call());
});
