/** protobuf-es, which interprets the schemas of messages. */
import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { EchoRequestSchema, OrderSchema } from "../../messages/gen/echo_pb.ts";
import { BlobsSchema, NumbersSchema, WordsSchema } from "../../messages/gen/samples_pb.ts";
import { answerCodecs, type Codec } from "./codec.ts";

answerCodecs({
  echo: codecOf(EchoRequestSchema),
  order: codecOf(OrderSchema),
  words: codecOf(WordsSchema),
  numbers: codecOf(NumbersSchema),
  blobs: codecOf(BlobsSchema),
});

function codecOf<Schema extends DescMessage>(schema: Schema): Codec<MessageShape<Schema>> {
  return { encode: (message) => toBinary(schema, message), decode: (bytes) => fromBinary(schema, bytes) };
}
