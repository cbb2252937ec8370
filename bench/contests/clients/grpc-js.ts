/** `@grpc/grpc-js` with messages of `@grpc/proto-loader`. */
import { credentials } from "@grpc/grpc-js";
import { echoRequest, repeatCount } from "../../messages/echo.ts";
import { EchoServiceClient } from "../../messages/grpc-js.ts";
import { answerCalls, checkEcho } from "./caller.ts";

const { $typeName: _, ...request } = echoRequest;

answerCalls((baseUrl) => {
  const client = new EchoServiceClient(new URL(baseUrl).host, credentials.createInsecure());
  const call = () =>
    new Promise<typeof request | undefined>((resolve, reject) => {
      client.echo(request, (error, answer) => (error === null ? resolve(answer) : reject(error)));
    });
  // Uses events, because iterating over the stream would be slower.
  const repeat = () =>
    new Promise<void>((resolve, reject) => {
      let received = 0;
      client
        .repeat<typeof request>({ count: repeatCount })
        .on("data", (message) => {
          checkEcho(message);
          received++;
        })
        .on("end", () => (received === repeatCount ? resolve() : reject(new Error(`${received} messages came`))))
        .on("error", reject);
    });
  return { echo: async () => checkEcho(await call()), repeat };
});
