/** Minimal server on `node:http` whose messages are decoded and encoded by protobuf-es. */
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { EchoRequestSchema } from "../../messages/gen/echo_pb.ts";
import { createHttp1Echo } from "./http1-echo.ts";
import { listen } from "./port.ts";

await listen(
  createHttp1Echo("application/proto", (request) => {
    const bytes = toBinary(EchoRequestSchema, fromBinary(EchoRequestSchema, request));
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }),
);
