/** The conversion of a bare server of sub-protocol A: an array of one JSON object in, through protobuf-es, one JSON object out. */
import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { EchoRequestSchema } from "../gen/echo_pb.ts";

export function echoInJson(request: Buffer): Buffer {
  const [argument] = JSON.parse(request.toString()) as [JsonValue];
  const message = fromJson(EchoRequestSchema, argument, { ignoreUnknownFields: true });
  return Buffer.from(JSON.stringify(toJson(EchoRequestSchema, message)));
}
