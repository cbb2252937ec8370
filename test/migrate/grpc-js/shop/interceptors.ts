import { InterceptingCall, type Interceptor } from "@grpc/grpc-js";

export const auth: Interceptor = (options, nextCall) =>
  new InterceptingCall(nextCall(options), {
    start(metadata, listener, next) {
      metadata.set("authorization", "Bearer secret");
      next(metadata, listener);
    },
  });
