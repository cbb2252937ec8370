/** `@grpc/grpc-js` with messages of `@grpc/proto-loader`. */
import {
  type handleBidiStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type Metadata,
  ResponderBuilder,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  ServerListenerBuilder,
  status,
} from "@grpc/grpc-js";
import { Latencies } from "../../latencies.ts";
import { echoRequest } from "../../messages/echo.ts";
import { EchoServiceClient } from "../../messages/grpc-js.ts";
import { announcePort, loopback } from "./port.ts";
import { setup } from "./setup.ts";

const echo: handleUnaryCall<unknown, unknown> = (call, reply) => reply(null, call.request);

const { $typeName: _, ...message } = echoRequest;

const repeat: handleServerStreamingCall<{ count: number }, typeof message> = (call) => {
  let left = call.request.count;
  const write = () => {
    while (left > 0) {
      left--;
      if (!call.write(message)) return;
    }
    call.off("drain", write).end();
  };
  call.on("drain", write);
  write();
};

const talk: handleBidiStreamingCall<unknown, unknown> = (call) => {
  call.on("data", (request) => call.write(request));
  call.on("end", () => call.end());
};

/** Refuses calls without a token, as `triple.ts` does. */
const authorize: ServerInterceptor = (_method, call) => {
  const onMetadata = (metadata: Metadata, proceed: (metadata: Metadata) => void) => {
    if (metadata.get("authorization").length > 0) proceed(metadata);
    else call.sendStatus({ code: status.UNAUTHENTICATED, details: "no token" });
  };
  const listener = new ServerListenerBuilder().withOnReceiveMetadata(onMetadata).build();
  return new ServerInterceptingCall(call, new ResponderBuilder().withStart((next) => next(listener)).build());
};

/** Measures calls, and returns the request number. */
const observe: ServerInterceptor = (_method, call) => {
  const start = performance.now();
  let id: string | Buffer | undefined;
  const onMetadata = (metadata: Metadata, proceed: (metadata: Metadata) => void) => {
    [id] = metadata.get("x-request-id");
    proceed(metadata);
  };
  const listener = new ServerListenerBuilder().withOnReceiveMetadata(onMetadata).build();
  const responder = new ResponderBuilder()
    .withStart((next) => next(listener))
    .withSendMetadata((metadata, next) => {
      if (id !== undefined) metadata.set("x-request-id", id);
      next(metadata);
    })
    .withSendStatus((ended, next) => {
      durations.record(performance.now() - start);
      next(ended);
    });
  return new ServerInterceptingCall(call, responder.build());
};
const durations = new Latencies();

const server = new Server(setup === "interceptors" ? { interceptors: [authorize, observe] } : {});
server.addService(EchoServiceClient.service, { echo, repeat, echoOrder: echo, echoBlob: echo, talk });
server.bindAsync(`${loopback}:0`, ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  announcePort(port);
});
