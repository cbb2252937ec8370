/**
 * Content types of sub-protocol B (spec: Extended content type): the format of messages for each, and the plain HTTP
 * responses to requests that are not gRPC.
 */
import { Metadata } from "../call/metadata.ts";
import type { Method, ProtoMethod } from "../call/method.ts";
import type { Codec } from "../codec/codec.ts";
import { countOf } from "../codec/values/values.ts";
import type { Body } from "../http/body.ts";
import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import { clipText } from "../protocol/error.ts";
import type { GrpcPayloadCall } from "../protocol/payload.ts";
import type { Handler } from "../protocol/protocol.ts";
import type { RequestFormat, ServerCall } from "../server/receive.ts";
import { TEXT_TYPE, textResponse } from "../server/resource.ts";
import { encodeEnvelope, encodeMessage } from "./envelope.ts";
import { codecNameOf, isWrapperContentType } from "./headers.ts";
import { internalError } from "./messages.ts";

/** The format of the messages of calls with a content type. */
export interface GrpcFormat extends RequestFormat {
  /** Fields of every response. */
  readonly fields: Metadata;
  /** Encodes a message as an envelope. */
  encode(message: object, method: Method, payload: GrpcPayloadCall | undefined): Uint8Array;
}

/** A call whose headers have been read. */
export interface GrpcCall extends ServerCall<GrpcFormat, GrpcPayloadCall> {
  /** The body with the envelopes of the messages. */
  readonly body: Body;
}

export interface ContentTypeFormats {
  /** The format of methods whose messages have schemas. `undefined`: they do not support the content type. */
  readonly codec: GrpcFormat | undefined;
  /** The format of methods whose messages have no schema. `undefined`: they do not support the content type. */
  readonly wrapper: GrpcFormat | undefined;
  /** The format of methods whose payload has the codec `json`. `undefined`: they do not support the content type. */
  readonly json: GrpcFormat | undefined;
}

/** Maximum length of a content type in an error, in characters. */
const MAX_NAMED_TYPE = 100;

const GRPC_CONTENT_TYPE = /^application\/(?:grpc|(?:triple|svc)\+wrapper)(?:[+;\s]|$)/i;
const SUPPORTED_CONTENT_TYPES = "application/grpc, application/grpc+proto, application/triple+wrapper";

/** Reports whether a content type belongs to gRPC, with any codec. */
export function isGrpcContentType(contentType: string): boolean {
  return GRPC_CONTENT_TYPE.test(contentType);
}

/** Creates the function that finds the formats of a content type. */
export function createContentTypes(codecs: readonly Codec[]): (contentType: string) => ContentTypeFormats {
  const formats = new Map<string, GrpcFormat>();
  const proto = codecs.find(({ name }) => name === "proto");
  if (proto !== undefined) formats.set("application/grpc", codecFormat("application/grpc", proto));
  for (const codec of codecs) {
    const name = `application/grpc+${codec.name}`;
    formats.set(name, codecFormat(name, codec));
  }
  return (contentType) => {
    const name = codecNameOf(contentType);
    return {
      // As it is, or else without parameters and in lower case.
      codec: formats.get(contentType) ?? (name === undefined ? undefined : formats.get(`application/grpc+${name}`)),
      wrapper: isWrapperContentType(contentType) ? payloadFormat(contentType) : undefined,
      json: name === "json" ? payloadFormat(contentType) : undefined,
    };
  };
}

/** Creates the plain HTTP response to a request that is not gRPC or has an unsupported content type. */
export function refuse(
  { version, method, headers }: HttpRequest,
  handler: Handler | undefined,
  codecs: readonly Codec[],
): HttpResponse {
  if (version !== "2") {
    return textResponse(
      505,
      TEXT_TYPE,
      "gRPC needs HTTP/2 (curl: --http2-prior-knowledge); over HTTP/1.1 send application/json",
    );
  }
  if (method !== "POST") return refuseMethod();
  const names = codecs.map(({ name }) => `application/grpc+${name}`);
  const known = codecs.some(({ name }) => name === "proto") ? ["application/grpc", ...names] : names;
  const { payload } = handler ?? {};
  const supported = payload?.codec === undefined ? SUPPORTED_CONTENT_TYPES : `application/grpc+${payload.codec}`;
  return refuseType(headers.get("content-type") ?? "", payload === undefined ? known.join(", ") : supported);
}

/** Creates the response to requests with a method other than POST. */
export function refuseMethod(): HttpResponse {
  return textResponse(405, TEXT_TYPE, "gRPC calls use the method POST", { allow: "POST" });
}

/** Creates the response to a content type that is not supported. */
export function refuseType(contentType: string, supported: string): HttpResponse {
  const message = `content type ${clipText(contentType, MAX_NAMED_TYPE)} is not supported; supported are: ${supported}`;
  return textResponse(415, TEXT_TYPE, message, { "accept-post": supported });
}

function codecFormat(contentType: string, codec: Codec): GrpcFormat {
  return {
    fields: fieldsOf(contentType),
    decode(bytes, { method, limits }) {
      const { input, codecs } = method as ProtoMethod;
      return codec.decode(input, bytes, codecs?.input, countOf(bytes, limits.maxMessageValues));
    },
    encode(message, method) {
      const { output, codecs } = method as ProtoMethod;
      return encodeMessage(codec, output, message, codecs?.output);
    },
    malformed: internalError,
  };
}

/** The format of messages that their payload encodes. The response has the content type of the request. */
function payloadFormat(contentType: string): GrpcFormat {
  return {
    fields: fieldsOf(contentType),
    decode: (bytes, _handler, payload) => (payload as GrpcPayloadCall).decode(bytes),
    encode: (message, _method, payload) => encodeEnvelope((payload as GrpcPayloadCall).encode(message)),
    malformed: internalError,
  };
}

function fieldsOf(contentType: string): Metadata {
  return new Metadata({ "content-type": contentType }).freeze();
}
