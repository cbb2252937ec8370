import { ClientError, type ClientMiddleware, Metadata, Status } from "nice-grpc";

export const userMiddleware: ClientMiddleware = async function* (call, options) {
  const metadata = Metadata(options.metadata);
  metadata.set("x-user", "joe");
  return yield* call.next(call.request, { ...options, metadata });
};

export function createTokenMiddleware(token: string): ClientMiddleware {
  return async function* tokenMiddleware(call, options) {
    try {
      return yield* call.next(call.request, {
        ...options,
        metadata: Metadata(options.metadata).set("authorization", `Bearer ${token}`),
      });
    } catch (error: unknown) {
      if (error instanceof ClientError && error.code === Status.UNAUTHENTICATED) {
        console.error(error.path, error.details);
      }
      throw error;
    }
  };
}
