import { CallContext, ServerError, ServerMiddlewareCall, Status, type ServerMiddleware } from "nice-grpc";

export async function* loggingMiddleware<Request, Response>(call: ServerMiddlewareCall<Request, Response>, context: CallContext) {
  const { path } = call.method;
  console.error(`${path} of ${context.metadata.get("x-user")}`);
  try {
    const result = yield* call.next(call.request, context);
    console.error(`${path}: ok`);
    return result;
  } catch (error) {
    if (error instanceof ServerError) console.error(`${path}: ${error.code} ${error.details}`);
    throw error;
  }
}

export function createAuth(token: string): ServerMiddleware {
  return async function* auth(call, context) {
    if (context.metadata.get("authorization") !== `Bearer ${token}`) {
      throw new ServerError(Status.UNAUTHENTICATED, "no token");
    }
    return yield* call.next(call.request, context);
  };
}
