/** protobufjs 8 with static code, which its command generates when the process starts. */
import { echoProto } from "../../messages/echo.ts";
import { orderProto } from "../../messages/order.ts";
import { answerCodec } from "./codec.ts";
import { loadStaticCode } from "./static-code.ts";

const { EchoRequest, Order } = loadStaticCode().bench.v1;

answerCodec(
  {
    message: EchoRequest.decode(echoProto),
    encode: (message) => EchoRequest.encode(message).finish(),
    decode: (bytes) => EchoRequest.decode(bytes),
  },
  {
    message: Order.decode(orderProto),
    encode: (message) => Order.encode(message).finish(),
    decode: (bytes) => Order.decode(bytes),
  },
);
