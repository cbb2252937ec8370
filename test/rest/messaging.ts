/** The service with rules of `google.api.http`, which reports the calls that reach it. */
import { type DescMessage, type JsonValue, type Message as ProtoMessage, toJson } from "@bufbuild/protobuf";
import { EmptySchema, StructSchema } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "triple-es";
import {
  BatchCreateRequestSchema,
  GetMessageRequestSchema,
  ListMessagesRequestSchema,
  MessageSchema,
  NameRequestSchema,
  UpdateMessageRequestSchema,
} from "../../fixtures/gen/fixture/rest/v1/rest_pb.ts";
import type { MessagingServiceHandler } from "../../fixtures/gen/fixture/rest/v1/rest_triple.ts";

/** A call that a handler received. */
export interface ReceivedCall {
  readonly method: string;
  readonly request: JsonValue;
  readonly context: HandlerContext;
}

/** Creates the service. `report` receives each call. */
export function createMessaging(report: (call: ReceivedCall) => void): MessagingServiceHandler {
  const reporting =
    (type: DescMessage) =>
    (request: ProtoMessage, context: HandlerContext): void =>
      report({ method: context.method.name, request: toJson(type, request), context });
  const named = reporting(NameRequestSchema);
  const listed = reporting(ListMessagesRequestSchema);
  const answer =
    <R>(received: (request: R, context: HandlerContext) => void) =>
    (request: R, context: HandlerContext) => {
      received(request, context);
      return { text: context.method.name };
    };
  return {
    getNamed: answer(named),
    deleteNamed: (request, context) => {
      named(request, context);
      return {};
    },
    cancelNamed: answer(named),
    touchNamed: answer(named),
    getLatest: answer(reporting(EmptySchema)),
    listMessages: (request, context) => {
      listed(request, context);
      if (request.pageToken === "none") return {};
      return { messages: [{ text: "a" }, { text: "b" }], total: 2n, first: { text: "a" } };
    },
    batchCreate: (request, context) => {
      reporting(BatchCreateRequestSchema)(request, context);
      return { messages: request.messages };
    },
    async *watchMessages() {
      yield { text: "watched" };
    },
    getMessage: answer(reporting(GetMessageRequestSchema)),
    updateMessage: answer(reporting(UpdateMessageRequestSchema)),
    replaceMessage: answer(reporting(MessageSchema)),
    getFile: answer(named),
    link: answer(named),
    putStruct: (request, context) => {
      report({ method: context.method.name, request: toJson(StructSchema, request), context });
      return request;
    },
    count: answer(listed),
    internal: answer(named),
  };
}
