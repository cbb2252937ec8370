/** Bare `node:http2`, constant bytes. */
import { echoEnvelope } from "../echo.ts";
import { answerCalls } from "./caller.ts";
import { openHttp2Client } from "./http2-client.ts";

answerCalls((baseUrl) => {
  const call = openHttp2Client(baseUrl);
  return async () => {
    const answer = await call(echoEnvelope);
    if (answer.length !== echoEnvelope.length) throw new Error("the answer is not the message that was sent");
  };
});
