/**
 * The conversion of minimal servers of sub-protocol A: from an array of one JSON object to one JSON object, by protobuf-es.
 */
import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { EchoRequestSchema } from "../../messages/gen/echo_pb.ts";

export function echoInJson(request: Buffer): Buffer {
  const [argument] = JSON.parse(request.toString()) as [JsonValue];
  const message = fromJson(EchoRequestSchema, argument, { ignoreUnknownFields: true });
  return Buffer.from(JSON.stringify(toJson(EchoRequestSchema, message)));
}
