/** The codecs that the plugin of triple-es generates. */
import { EchoRequestCodec, OrderCodec } from "../../messages/gen/echo_codec.ts";
import { BlobsCodec, NumbersCodec, WordsCodec } from "../../messages/gen/samples_codec.ts";
import { answerCodecs } from "./codec.ts";

answerCodecs({
  echo: EchoRequestCodec,
  order: OrderCodec,
  words: WordsCodec,
  numbers: NumbersCodec,
  blobs: BlobsCodec,
});
