/** Minimal client on `node:http2` that sends constant bytes. */
import { echoEnvelope, echoPath, repeatCount, repeatEnvelope, repeatPath } from "../../messages/echo.ts";
import { answerCalls } from "./caller.ts";
import { openHttp2Client } from "./http2-client.ts";

answerCalls((baseUrl) => {
  const call = openHttp2Client(baseUrl);
  const callFor = async (path: string, request: Uint8Array, count: number) => {
    let received = 0;
    await call(path, request, (chunk) => {
      received += chunk.length;
    });
    if (received !== count * echoEnvelope.length) throw new Error("the answer is not the message that was sent");
  };
  return {
    echo: () => callFor(echoPath, echoEnvelope, 1),
    repeat: () => callFor(repeatPath, repeatEnvelope, repeatCount),
  };
});
