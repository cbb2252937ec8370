/** Prepared bytes of calls over HTTP/2: constant, except for the number of the stream and a number of the call. */
import {
  echoEnvelope,
  echoJson,
  echoJsonArguments,
  echoPath,
  repeatCount,
  repeatEnvelope,
  repeatPath,
} from "../../messages/echo.ts";
import { methodPath } from "../../messages/methods.ts";
import { orderEnvelope, orderPath } from "../../messages/order.ts";
import { endHeaders, endStream, field, frame, frameType } from "./http2-frames.ts";
import type { Load } from "./load.ts";

/** A unary call, or one with a stream of responses. */
export interface Script {
  readonly request: Buffer;
  /** Number of bytes of the request that count for flow control. */
  readonly requestBytes: number;
  /** Offsets of the stream number in the two frames of the request. */
  readonly streamOffsets: readonly [headers: number, data: number];
  /** Offsets of the sixteen digits that differ from call to call. */
  readonly numberOffsets: readonly number[];
  /** The message of the response, in its envelope. */
  readonly answer: Buffer;
  /** Bytes of all messages of the response. */
  readonly responseBytes: number;
  /** The response, repeated to more bytes than a frame can contain. */
  readonly answers: Buffer;
  /** True if the response ends with trailers. */
  readonly hasTrailers: boolean;
}

/** The scripts of a load, which are used in turn. */
export function scriptsOf(load: Load): readonly Script[] {
  const { method, methods = 0 } = load;
  if (load.protocol === "http-rpc") return [script(load, echoPath, echoJsonArguments, echoJson, 1)];
  if (method === "order") return [script(load, orderPath, orderEnvelope, orderEnvelope, 1)];
  if (method === "repeat") return [script(load, repeatPath, repeatEnvelope, echoEnvelope, repeatCount)];
  if (methods === 0) return [script(load, echoPath, echoEnvelope, echoEnvelope, 1)];
  return Array.from({ length: methods }, (_, i) => script(load, methodPath(i), echoEnvelope, echoEnvelope, 1));
}

/** Placeholder of sixteen digits, which is replaced in each call. */
const anyNumber = "0123456789abcdef";

/** Header fields that services usually send: a deadline, a token, a trace and a request number. */
const callHeaders = [
  field("grpc-timeout", "9998m"),
  field("authorization", "Bearer 0f9a5c1e-7425-40de-944b-e07fc1f90ae7"),
  field("traceparent", `00-4bf92f3577b34da6${anyNumber}-${anyNumber}-01`),
  field("x-request-id", anyNumber),
];

function script({ protocol, hasHeaders }: Load, path: string, body: Buffer, answer: Buffer, count: number): Script {
  const isGrpc = protocol === "grpc";
  const headers = Buffer.concat([
    headersOf(path, isGrpc ? "application/grpc+proto" : "application/json"),
    isGrpc ? field("te", "trailers") : field("tri-protocol-version", "1.0.0"),
    ...(hasHeaders ? callHeaders : []),
  ]);
  const headersFrame = frame(frameType.headers, endHeaders, 0, headers);
  const numberOffsets: number[] = [];
  for (let at = headersFrame.indexOf(anyNumber); at >= 0; at = headersFrame.indexOf(anyNumber, at + 1)) {
    numberOffsets.push(at);
  }
  return {
    request: Buffer.concat([headersFrame, frame(frameType.data, endStream, 0, body)]),
    requestBytes: body.length,
    streamOffsets: [5, headersFrame.length + 5],
    numberOffsets,
    answer,
    responseBytes: count * answer.length,
    answers: Buffer.alloc(2 ** 16, answer),
    hasTrailers: isGrpc,
  };
}

/** The header fields of every request. */
export function headersOf(path: string, contentType: string): Buffer {
  return Buffer.concat([
    Buffer.from([0x83, 0x86]), // :method POST and :scheme http, both from the static table
    field(":path", path),
    field(":authority", "127.0.0.1"),
    field("content-type", contentType),
    field("user-agent", "triple-bench"),
  ]);
}
