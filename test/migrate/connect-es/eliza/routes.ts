// The routes of the server.
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import { ElizaService, type IntroduceRequest, type SayRequest } from "../gen/eliza/v1/eliza_pb.js";
import { kUser } from "./context.js";

export default (router: ConnectRouter) => {
  // registers eliza.v1.ElizaService
  router.service(ElizaService, {
    say(request: SayRequest, context: HandlerContext) {
      if (request.sentence === "") {
        throw new ConnectError("the sentence is empty", Code.InvalidArgument);
      }
      const locale = context.requestHeader.get("accept-language");
      if (locale === null) context.responseHeader.set("x-locale", "en");
      context.responseTrailer.append("x-user", context.values.get(kUser).name);
      return { sentence: `You said ${request.sentence}` };
    },

    async *introduce({ name }: IntroduceRequest, { requestHeader, responseHeader }: HandlerContext) {
      responseHeader.set("x-agent", requestHeader.get("user-agent") ?? "none");
      yield { sentence: `Hi ${name}, I'm Eliza.` };
      yield { sentence: "How are you feeling today?" };
    },

    async *converse(requests, context) {
      for await (const { sentence } of requests) {
        if (context.signal.aborted) return;
        yield { sentence: `Why do you say ${sentence}?` };
      }
    },

    async summarize(requests) {
      const sentences: string[] = [];
      for await (const one of requests) sentences.push(one.sentence);
      return { sentence: sentences.join(", ") };
    },
  });
};
