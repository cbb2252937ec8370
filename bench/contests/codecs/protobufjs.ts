/** protobufjs 8 with static code, which its command generates when the process starts. */
import { answerCodecs, type Codec } from "./codec.ts";
import { loadStaticCode, type StaticMessage } from "./static-code.ts";

const { EchoRequest, Order, Words, Numbers, Blobs } = loadStaticCode().bench.v1;

answerCodecs({
  echo: codecOf(EchoRequest),
  order: codecOf(Order),
  words: codecOf(Words),
  numbers: codecOf(Numbers),
  blobs: codecOf(Blobs),
});

function codecOf(message: StaticMessage): Codec<object> {
  return { encode: (value) => message.encode(value).finish(), decode: (bytes) => message.decode(bytes) };
}
