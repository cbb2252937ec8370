/** The least that a gRPC server on `node:http2` can do: read the request, answer with the body and OK in the trailers. */
import { createServer, type Http2Server } from "node:http2";

export function createHttp2Echo(convert: (request: Buffer) => Uint8Array): Http2Server {
  const server = createServer();
  server.on("stream", (stream) => {
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => {
      stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
      stream.end(convert(Buffer.concat(chunks)));
    });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  });
  return server;
}
