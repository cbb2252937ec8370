/** The codecs that the plugin of triple-es generates. */
import { echoRequest } from "../../messages/echo.ts";
import { EchoRequestCodec, OrderCodec } from "../../messages/gen/echo_codec.ts";
import { order } from "../../messages/order.ts";
import { answerCodec } from "./codec.ts";

answerCodec(
  { message: echoRequest, encode: (message) => EchoRequestCodec.encode(message), decode: EchoRequestCodec.decode },
  { message: order, encode: (message) => OrderCodec.encode(message), decode: OrderCodec.decode },
);
