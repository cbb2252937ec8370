/** The transports of the clients under test on Node and in workerd. */
import { createTransport as createFetchTransport } from "triple-es/fetch";
import { createTransport } from "triple-es/node";
import type { Connect } from "./call.ts";
import { compressions, encodings } from "./compressions.ts";
import { Codec, Protocol } from "./gen/connectrpc/conformance/v1/config_pb.ts";
import { jsonCodec } from "./translation.ts";

/** A transport on fetch for gRPC-Web, one on sockets for gRPC. */
export const connect: Connect = (request) => {
  const { host, port, serverTlsCert, clientTlsCreds: creds } = request;
  if (request.protocol === Protocol.GRPC_WEB) {
    const transport = createFetchTransport({
      baseUrl: `http://${host}:${port}`,
      protocol: "grpc-web",
      codec: request.codec === Codec.JSON ? jsonCodec : "proto",
      maxMessageBytes: request.messageReceiveLimit || undefined,
    });
    return { ...transport, close: async () => {} };
  }
  const secure = serverTlsCert.byteLength > 0;
  return createTransport({
    baseUrl: `${secure ? "https" : "http"}://${host}:${port}`,
    codec: request.codec === Codec.JSON ? jsonCodec : "proto",
    compression: encodings[request.compression],
    compressions,
    compressMinBytes: 0,
    maxMessageBytes: request.messageReceiveLimit || undefined,
    tls: secure
      ? {
          ca: Buffer.from(serverTlsCert),
          ...(creds === undefined ? {} : { cert: Buffer.from(creds.cert), key: Buffer.from(creds.key) }),
        }
      : undefined,
  });
};
