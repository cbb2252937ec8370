/** `@grpc/grpc-js`, messages by `@grpc/proto-loader`. */
import { type handleUnaryCall, Server, ServerCredentials } from "@grpc/grpc-js";
import { EchoServiceClient } from "../grpc-js.ts";
import { announcePort, loopback } from "./port.ts";

const echo: handleUnaryCall<unknown, unknown> = (call, reply) => reply(null, call.request);

const server = new Server();
server.addService(EchoServiceClient.service, { echo });
server.bindAsync(`${loopback}:0`, ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  announcePort(port);
});
