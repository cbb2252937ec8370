/**
 * Minimal client on `node:http` with a keep-alive `Agent`: it sends an array of one JSON object and receives one JSON
 * object, both converted by protobuf-es.
 */
import { Agent, request } from "node:http";
import { fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { echoPath, echoRequest } from "../../messages/echo.ts";
import { EchoRequestSchema } from "../../messages/gen/echo_pb.ts";
import { answerCalls, checkEcho } from "./caller.ts";

answerCalls((baseUrl) => {
  const { hostname, port } = new URL(baseUrl);
  const target = { agent: new Agent({ keepAlive: true }), hostname, port, method: "POST", path: echoPath };
  const post = (body: string) =>
    new Promise<string>((resolve, reject) => {
      const headers = {
        "content-type": "application/json",
        "tri-protocol-version": "1.0.0",
        "content-length": Buffer.byteLength(body),
      };
      const outgoing = request({ ...target, headers }, (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("end", () => resolve(Buffer.concat(chunks).toString()));
      });
      outgoing.on("error", reject);
      outgoing.end(body);
    });
  return {
    echo: async () => {
      const answer = await post(`[${toJsonString(EchoRequestSchema, echoRequest)}]`);
      checkEcho(fromJsonString(EchoRequestSchema, answer, { ignoreUnknownFields: true }));
    },
  };
});
