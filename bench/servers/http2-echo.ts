/** The least that a gRPC server on `node:http2` can do: read the request, answer with messages and OK in the trailers. */
import { createServer, type Http2Server, type ServerHttp2Stream } from "node:http2";
import { repeatCount, repeatPath } from "../echo.ts";

/** `convert` makes the answer of Echo, `next` every message of Repeat, both in their envelopes. */
export function createHttp2Echo(convert: (request: Buffer) => Uint8Array, next: () => Uint8Array): Http2Server {
  const server = createServer();
  server.on("stream", (stream, { ":path": path }) => {
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => {
      stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
      if (path === repeatPath) repeat(stream, next);
      else stream.end(convert(Buffer.concat(chunks)));
    });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  });
  return server;
}

function repeat(stream: ServerHttp2Stream, next: () => Uint8Array): void {
  let left = repeatCount;
  const write = () => {
    while (left > 0) {
      left--;
      if (!stream.write(next())) return;
    }
    stream.off("drain", write).end();
  };
  stream.on("drain", write);
  write();
}
