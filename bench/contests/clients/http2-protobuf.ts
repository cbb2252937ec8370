/** Minimal client on `node:http2` whose messages are encoded and decoded by protobuf-es. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { echoPath, echoRequest, envelope, repeatCount, repeatPath, unwrapEach } from "../../messages/echo.ts";
import { EchoRequestSchema, RepeatRequestSchema } from "../../messages/gen/echo_pb.ts";
import { answerCalls, checkEcho } from "./caller.ts";
import { openHttp2Client } from "./http2-client.ts";

answerCalls((baseUrl) => {
  const call = openHttp2Client(baseUrl);
  const callFor = async (path: string, request: Uint8Array, count: number) => {
    let received = 0;
    const unwrap = unwrapEach((message) => {
      checkEcho(fromBinary(EchoRequestSchema, message));
      received++;
    });
    await call(path, envelope(request), unwrap);
    if (received !== count) throw new Error(`${received} messages came instead of ${count}`);
  };
  return {
    echo: () => callFor(echoPath, toBinary(EchoRequestSchema, echoRequest), 1),
    repeat: () =>
      callFor(
        repeatPath,
        toBinary(RepeatRequestSchema, create(RepeatRequestSchema, { count: repeatCount })),
        repeatCount,
      ),
  };
});
