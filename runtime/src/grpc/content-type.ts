/**
 * Content types of sub-protocol B (spec: Extended content type): the codec of each, and the plain HTTP responses to
 * requests that are not gRPC.
 */
import type { Handler } from "../call/call.ts";
import { Metadata } from "../call/metadata.ts";
import { type Codec, protoCodec } from "../codec/codec.ts";
import { wholeBody } from "../http/body.ts";
import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import { clipText } from "../protocol/error.ts";
import type { ServerProtocolOptions } from "../protocol/options.ts";
import { codecNameOf, isWrapperContentType } from "./headers.ts";

/** The settings of calls with a content type. */
export interface ContentType {
  /** The codec of messages that are not wrapped. */
  readonly codec: Codec;
  /** Fields of every response. */
  readonly fields: Metadata;
}

export interface ContentTypes {
  /** Returns the settings for calls of a handler, or `undefined` if the content type is not supported. */
  find(contentType: string, handler: Handler | undefined): ContentType | undefined;
  /** Creates the plain HTTP response to a request that is not gRPC or has an unsupported content type. */
  refuse(request: HttpRequest, contentType: string, handler: Handler | undefined): HttpResponse;
}

/** Maximum length of a content type in an error, in characters. */
const MAX_NAMED_TYPE = 100;

const GRPC_CONTENT_TYPE = /^application\/(?:grpc|(?:triple|svc)\+wrapper)(?:[+;\s]|$)/i;
const SUPPORTED_CONTENT_TYPES = "application/grpc, application/grpc+proto, application/triple+wrapper";

/** Reports whether a content type belongs to gRPC, with any codec. */
export function isGrpcContentType(contentType: string): boolean {
  return GRPC_CONTENT_TYPE.test(contentType);
}

/** Prepares the settings of all content types, which do not depend on a request. */
export function createContentTypes({ codecs }: Pick<ServerProtocolOptions, "codecs">): ContentTypes {
  const contentTypes = new Map<string, ContentType>();
  const proto = codecs.find(({ name }) => name === "proto");
  if (proto !== undefined) contentTypes.set("application/grpc", contentTypeOf("application/grpc", proto));
  for (const codec of codecs) {
    const name = `application/grpc+${codec.name}`;
    contentTypes.set(name, contentTypeOf(name, codec));
  }

  /** Finds the settings for a content type as it is, or else without parameters and in lower case. */
  function findCodec(contentType: string): ContentType | undefined {
    const name = contentTypes.has(contentType) ? undefined : codecNameOf(contentType);
    return contentTypes.get(name === undefined ? contentType : `application/grpc+${name}`);
  }

  return {
    // The method, not the content type, determines whether messages are wrapped.
    find(contentType, handler) {
      if (handler?.method.payload !== undefined) return findWrapper(contentType);
      return findCodec(contentType) ?? (handler === undefined ? findWrapper(contentType) : undefined);
    },
    refuse({ version, method }, contentType, handler) {
      if (version !== "2") {
        return plain(505, "gRPC needs HTTP/2 (curl: --http2-prior-knowledge); over HTTP/1.1 send application/json");
      }
      if (method !== "POST") return refuseMethod();
      const isWrapped = handler?.method.payload !== undefined;
      const supported = isWrapped ? SUPPORTED_CONTENT_TYPES : [...contentTypes.keys()].join(", ");
      return refuseType(contentType, supported);
    },
  };
}

/** Creates the response to requests with a method other than POST. */
export function refuseMethod(): HttpResponse {
  return plain(405, "gRPC calls use the method POST", { allow: "POST" });
}

/** Creates the response to a content type that is not supported. */
export function refuseType(contentType: string, supported: string): HttpResponse {
  const message = `content type ${clipText(contentType, MAX_NAMED_TYPE)} is not supported; supported are: ${supported}`;
  return plain(415, message, { "accept-post": supported });
}

function contentTypeOf(name: string, codec: Codec): ContentType {
  return { codec, fields: new Metadata({ "content-type": name }).freeze() };
}

/** Returns the settings for wrapped messages. The response has the content type of the request. */
function findWrapper(contentType: string): ContentType | undefined {
  return isWrapperContentType(contentType) ? contentTypeOf(contentType, protoCodec) : undefined;
}

function plain(status: number, message: string, headers: Record<string, string> = {}): HttpResponse {
  return {
    status,
    headers: new Metadata({ ...headers, "content-type": "text/plain; charset=utf-8" }),
    body: wholeBody(new TextEncoder().encode(message)),
    trailers: new Metadata(),
  };
}
