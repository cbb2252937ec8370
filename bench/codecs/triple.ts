/** The codecs that the plugin of triple-es generates. */
import { echoRequest } from "../echo.ts";
import { EchoRequestCodec, OrderCodec } from "../gen/echo_codec.ts";
import { order } from "../order.ts";
import { answerCodec } from "./codec.ts";

answerCodec(
  { message: echoRequest, encode: (message) => EchoRequestCodec.encode(message), decode: EchoRequestCodec.decode },
  { message: order, encode: (message) => OrderCodec.encode(message), decode: OrderCodec.decode },
);
