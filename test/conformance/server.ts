/**
 * The server under test. Started once for every configuration. With the argument `--worker PORT`, it is a worker, which is
 * started already.
 */
import { RpcError } from "triple-es";
import {
  ServerCompatRequestSchema,
  ServerCompatResponseSchema,
} from "./gen/connectrpc/conformance/v1/server_compat_pb.ts";
import { readMessages, writeMessage } from "./pipe.ts";
import { createConformanceServer } from "./service.ts";

const [, , option, workerPort] = process.argv;

for await (const request of readMessages(ServerCompatRequestSchema)) {
  if (option === "--worker") {
    writeMessage(ServerCompatResponseSchema, { host: "127.0.0.1", port: Number(workerPort) });
    // The runner ends this process after the last case.
    setInterval(() => {}, 60_000);
    break;
  }
  const { serverCreds, clientTlsCert, useTls } = request;
  if (useTls && serverCreds === undefined) throw new RpcError(13, "the runner gave no certificate");
  const tls =
    useTls && serverCreds !== undefined
      ? {
          cert: Buffer.from(serverCreds.cert),
          key: Buffer.from(serverCreds.key),
          ...(clientTlsCert.byteLength === 0
            ? {}
            : { ca: Buffer.from(clientTlsCert), requestCert: true, rejectUnauthorized: true }),
        }
      : undefined;
  const server = createConformanceServer({ tls, maxMessageBytes: request.messageReceiveLimit || undefined });
  await server.listen({ port: 0, host: "127.0.0.1" });
  writeMessage(ServerCompatResponseSchema, {
    host: "127.0.0.1",
    port: server.address.port,
    ...(serverCreds !== undefined && useTls ? { pemCert: serverCreds.cert } : {}),
  });
  process.once("SIGTERM", () => {
    server.close({ graceMs: 0 }).then(() => process.exit(0));
  });
}
