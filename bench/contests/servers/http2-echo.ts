/** A minimal gRPC server on `node:http2`: it reads the request, and responds with messages and OK in the trailers. */
import { createSecureServer, createServer, type Http2Server, type ServerHttp2Stream } from "node:http2";
import { repeatCount, repeatPath, talkPath } from "../../messages/echo.ts";
import { tls } from "./setup.ts";

/** `convert` creates the response of Echo, `next` every message of Repeat, both in their envelopes. */
export function createHttp2Echo(convert: (request: Buffer) => Uint8Array, next: () => Uint8Array): Http2Server {
  const server = tls === undefined ? createServer() : createSecureServer(tls);
  server.on("stream", (stream: ServerHttp2Stream, { ":path": path }) => {
    if (path === talkPath) {
      talk(stream);
      return;
    }
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

/** Sends every chunk back as it arrives. */
function talk(stream: ServerHttp2Stream): void {
  stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
  stream.on("data", (chunk: Buffer) => stream.write(chunk));
  stream.on("end", () => stream.end());
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
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
