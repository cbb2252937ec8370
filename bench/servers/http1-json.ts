/** Bare `node:http`: an array of one JSON object in, through protobuf-es, one JSON object out. */
import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { EchoRequestSchema } from "../gen/echo_pb.ts";
import { createHttp1Echo } from "./http1-echo.ts";
import { listen } from "./port.ts";

await listen(
  createHttp1Echo("application/json", (request) => {
    const [argument] = JSON.parse(request.toString()) as [JsonValue];
    const message = fromJson(EchoRequestSchema, argument, { ignoreUnknownFields: true });
    return Buffer.from(JSON.stringify(toJson(EchoRequestSchema, message)));
  }),
);
