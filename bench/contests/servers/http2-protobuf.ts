/** Minimal server on `node:http2` whose messages are decoded and encoded by protobuf-es. */
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { echoRequest, envelope, unwrap } from "../../messages/echo.ts";
import { EchoRequestSchema } from "../../messages/gen/echo_pb.ts";
import { createHttp2Echo } from "./http2-echo.ts";
import { listen } from "./port.ts";

await listen(
  createHttp2Echo(
    (request) => envelope(toBinary(EchoRequestSchema, fromBinary(EchoRequestSchema, unwrap(request)))),
    () => envelope(toBinary(EchoRequestSchema, echoRequest)),
  ),
);
