import type { CallContext, ServerMiddlewareCall } from "nice-grpc";

let messages = 0;

/** Counts the messages of responses. */
export async function* countMiddleware<Request, Response>(call: ServerMiddlewareCall<Request, Response>, context: CallContext) {
  if (!call.responseStream) {
    messages++;
    return yield* call.next(call.request, context);
  }
  for await (const response of call.next(call.request, context)) {
    messages++;
    yield response;
  }
}

export const counted = (): number => messages;
