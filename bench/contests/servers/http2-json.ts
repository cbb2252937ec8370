/**
 * Minimal server on `node:http2`: it receives an array of one JSON object and sends one JSON object, both converted by
 * protobuf-es.
 */
import { createServer } from "node:http2";
import { echoInJson } from "./json-echo.ts";
import { listen } from "./port.ts";

const server = createServer();
server.on("stream", (stream) => {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("end", () => {
    const body = echoInJson(Buffer.concat(chunks));
    stream.respond({ ":status": 200, "content-type": "application/json", "content-length": body.length });
    stream.end(body);
  });
});
await listen(server);
