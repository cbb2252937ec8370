/** A server of `node:http2` that answers every request once it is complete. */
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";

const server = createServer();
server.on("sessionError", () => {});
server.on("stream", (stream) => {
  stream.on("error", () => {});
  stream.on("end", () => {
    if (stream.destroyed || stream.closed) return;
    stream.respond({ ":status": 200 });
    stream.end("hello");
  });
  stream.resume();
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
process.stdin.on("end", () => process.exit()).resume();
