/** Converts between the suite's terms and those of triple-es: headers, errors and codecs of the programs. */
import { create, createRegistry, type MessageInitShape } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { type Code, createJsonCodec, type Metadata, RpcError } from "triple-es";
import type { Code as ConformanceCode } from "./gen/connectrpc/conformance/v1/config_pb.ts";
import {
  BidiStreamRequestSchema,
  ClientStreamRequestSchema,
  type Error as ConformanceError,
  ConformancePayload_RequestInfoSchema,
  type ErrorSchema,
  type Header,
  HeaderSchema,
  IdempotentUnaryRequestSchema,
  ServerStreamRequestSchema,
  UnaryRequestSchema,
} from "./gen/connectrpc/conformance/v1/service_pb.ts";

/** The JSON codec with the messages that the suite puts into `google.protobuf.Any`. */
export const jsonCodec = createJsonCodec({
  registry: createRegistry(
    UnaryRequestSchema,
    ServerStreamRequestSchema,
    ClientStreamRequestSchema,
    BidiStreamRequestSchema,
    IdempotentUnaryRequestSchema,
    ConformancePayload_RequestInfoSchema,
  ),
});

export function appendHeaders(metadata: Metadata, headers: readonly Header[]): void {
  for (const { name, value } of headers) for (const one of value) metadata.append(name, one);
}

export function toHeaders(metadata: Metadata): Header[] {
  const names = new Set([...metadata].map(([name]) => name));
  return [...names].map((name) => create(HeaderSchema, { name, value: metadata.getAll(name) }));
}

/** Creates the error that a test requests from a server. `details` are added to those of the error. */
export function toRpcError({ code, message, details }: ConformanceError, added: readonly Any[] = []): RpcError {
  return new RpcError(code as number as Code, message ?? "", { details: [...details, ...added] });
}

/** Converts an error of a client to the suite's form. */
export function fromRpcError(error: RpcError): MessageInitShape<typeof ErrorSchema> {
  return {
    code: error.code as number as ConformanceCode,
    message: error.rawMessage,
    details: error.details.map(({ typeUrl, value }) => ({ typeUrl, value })),
  };
}
