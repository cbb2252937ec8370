/** Bare `node:http2`, the message encoded and decoded by protobuf-es. */
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { echoRequest, envelope, unwrap } from "../echo.ts";
import { EchoRequestSchema } from "../gen/echo_pb.ts";
import { answerCalls, checkEcho } from "./caller.ts";
import { openHttp2Client } from "./http2-client.ts";

answerCalls((baseUrl) => {
  const call = openHttp2Client(baseUrl);
  return async () => {
    const answer = await call(envelope(toBinary(EchoRequestSchema, echoRequest)));
    checkEcho(fromBinary(EchoRequestSchema, unwrap(answer)));
  };
});
