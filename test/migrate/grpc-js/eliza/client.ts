import { ClientReadableStream, credentials, Metadata, ServiceError } from "@grpc/grpc-js";
import { promisify } from "util";
import { ElizaServiceClient } from "../gen/eliza/v1/eliza_grpc_pb";
import { ConverseRequest, ConverseResponse, IntroduceRequest, IntroduceResponse, SayRequest, SayResponse } from "../gen/eliza/v1/eliza_pb";

export async function main(address: string): Promise<void> {
  const client = new ElizaServiceClient(address, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.add("x-user", "joe");

  const request = new SayRequest();
  request.setSentence("I feel happy.");
  await new Promise<void>((resolve) => {
    client.say(request, metadata, { deadline: Date.now() + 5000 }, (err: ServiceError | null, response: SayResponse) => {
      if (err) {
        console.error(err.code, err.details);
        return;
      }
      console.log(response.getSentence());
      resolve();
    });
  });

  const say = promisify<SayRequest, SayResponse>(client.say.bind(client));
  await say(new SayRequest()).catch((err: ServiceError) => console.log(err.code, err.details));

  await new Promise<void>((resolve, reject) => {
    const stream: ClientReadableStream<IntroduceResponse> = client.introduce(new IntroduceRequest().setName("Joe"));
    stream.on("data", (res: IntroduceResponse) => {
      console.log(res.getSentence());
    });
    stream.on("end", () => resolve());
    stream.on("error", (err) => reject(err));
  });

  await new Promise<void>((resolve) => {
    const call = client.converse();
    call.on("data", (res: ConverseResponse) => console.log(res.getSentence()));
    call.on("end", () => resolve());
    for (const sentence of ["a", "b"]) {
      const message = new ConverseRequest();
      message.setSentence(sentence);
      call.write(message);
    }
    call.end();
  });

  await new Promise<void>((resolve) => {
    const call = client.summarize((err, response) => {
      console.log(err === null ? response.getSentence() : err.message);
      resolve();
    });
    call.write(new SayRequest().setSentence("c"));
    call.write(new SayRequest().setSentence("d"));
    call.end();
  });
  client.close();
}
