import {
  handleUnaryCall, sendUnaryData, ServerDuplexStream, ServerReadableStream, ServerUnaryCall, ServerWritableStream, status,
  UntypedHandleCall,
} from "@grpc/grpc-js";
import { IElizaServiceServer } from "../gen/eliza/v1/eliza_grpc_pb";
import {
  ConverseRequest, ConverseResponse, IntroduceRequest, IntroduceResponse, SayRequest, SayResponse,
} from "../gen/eliza/v1/eliza_pb";

/** The service. */
export class Eliza implements IElizaServiceServer {
  [method: string]: UntypedHandleCall;

  public say(call: ServerUnaryCall<SayRequest, SayResponse>, callback: sendUnaryData<SayResponse>): void {
    const sentence = call.request.getSentence();
    if (!sentence) {
      callback({ code: status.INVALID_ARGUMENT, details: "the sentence is empty" }, null);
      return;
    }
    const reply: SayResponse = new SayResponse();
    reply.setSentence(`You said ${sentence}`);
    callback(null, reply);
  }

  public introduce(call: ServerWritableStream<IntroduceRequest, IntroduceResponse>): void {
    console.error(`introduce: ${call.getPeer() !== ""}`);
    for (const text of [`Hi ${call.request.getName()}`, "How are you?"]) {
      call.write(new IntroduceResponse().setSentence(text));
    }
    call.end();
  }

  /** The calls that are open, which stay streams of Node. */
  private readonly open = new Set<ServerDuplexStream<ConverseRequest, ConverseResponse>>();

  public converse(call: ServerDuplexStream<ConverseRequest, ConverseResponse>): void {
    this.open.add(call);
    call.on("data", (request: ConverseRequest) => {
      if (!request.getSentence()) return;
      const response = new ConverseResponse();
      response.setSentence(`Why ${request.getSentence()}?`);
      call.write(response);
    });
    call.on("end", () => {
      this.open.delete(call);
      call.end();
    });
  }

  public summarize(call: ServerReadableStream<SayRequest, SayResponse>, callback: sendUnaryData<SayResponse>): void {
    const sentences: string[] = [];
    call.on("data", (request: SayRequest) => {
      sentences.push(request.getSentence());
    });
    call.on("end", () => {
      const reply = new SayResponse();
      reply.setSentence(sentences.join(", "));
      callback(null, reply);
    });
    call.on("error", (err) => console.error(err));
  }
}

/** Answers later. */
export const sayLater: handleUnaryCall<SayRequest, SayResponse> = (call, callback) => {
  setTimeout(() => {
    callback(null, new SayResponse().setSentence(call.request.getSentence()));
  }, 10);
};
