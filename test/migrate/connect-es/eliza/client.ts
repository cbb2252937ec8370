import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { compressionGzip, createGrpcTransport } from "@connectrpc/connect-node";
import { ElizaService, SayRequestSchema } from "../gen/eliza/v1/eliza_pb.js";
import { counter, createAuth } from "./interceptors.js";

export async function main(baseUrl: string) {
  const transport = createGrpcTransport({
    baseUrl,
    interceptors: [createAuth(() => "secret"), counter(() => {})],
    acceptCompression: [compressionGzip],
    defaultTimeoutMs: 5_000,
    readMaxBytes: 1 << 20,
  });
  const client = createClient(ElizaService, transport);

  let header = "";
  const res = await client.say(create(SayRequestSchema, { sentence: "I feel happy." }), {
    headers: { "x-test": "1" },
    onHeader(headers) {
      header = headers.get("x-logged") ?? "";
    },
    onTrailer: (trailers: Headers) => trailers.forEach((value, key) => console.log(key, value)),
  });
  console.log(res.sentence, header);

  for await (const { sentence } of client.introduce({ name: "Joe" }, { timeoutMs: 1000 })) console.log(sentence);

  const requests = createAsyncIterable([{ sentence: "a" }, { sentence: "b" }]);
  for await (const res of client.converse(requests)) console.log(res.sentence);

  const { sentence } = await client.summarize(
    (async function* () {
      yield { sentence: "c" };
      yield { sentence: "d" };
    })(),
  );
  console.log(sentence);
}
