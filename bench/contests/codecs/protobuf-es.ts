/** protobuf-es, which interprets the schemas of messages. */
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { echoRequest } from "../../messages/echo.ts";
import { EchoRequestSchema, OrderSchema } from "../../messages/gen/echo_pb.ts";
import { order } from "../../messages/order.ts";
import { answerCodec } from "./codec.ts";

answerCodec(
  {
    message: echoRequest,
    encode: (message) => toBinary(EchoRequestSchema, message),
    decode: (bytes) => fromBinary(EchoRequestSchema, bytes),
  },
  {
    message: order,
    encode: (message) => toBinary(OrderSchema, message),
    decode: (bytes) => fromBinary(OrderSchema, bytes),
  },
);
