/** `@grpc/grpc-js`, messages by `@grpc/proto-loader`. */
import { type handleServerStreamingCall, type handleUnaryCall, Server, ServerCredentials } from "@grpc/grpc-js";
import { echoRequest } from "../echo.ts";
import { EchoServiceClient } from "../grpc-js.ts";
import { announcePort, loopback } from "./port.ts";

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

const server = new Server();
server.addService(EchoServiceClient.service, { echo, repeat, echoOrder: echo });
server.bindAsync(`${loopback}:0`, ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  announcePort(port);
});
