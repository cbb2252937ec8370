/**
 * Content negotiation of sub-protocol A: selects the decoder of a request by its content type, and the encoder of the
 * response by `accept` (RFC 9110, section 12.5.1).
 */
import { Code } from "../call/code.ts";
import { Metadata } from "../call/metadata.ts";
import type { Method, ProtoMethod } from "../call/method.ts";
import { remember } from "../call/remember.ts";
import { createBodyJson, jsonCodecOf } from "../codec/bounded-codec.ts";
import { type Codec, jsonCodec } from "../codec/codec.ts";
import { countOf } from "../codec/values/values.ts";
import type { HttpRequest } from "../http/exchange.ts";
import { clipText } from "../protocol/error.ts";
import type { RequestHeaders } from "../protocol/headers.ts";
import type { BodyContent, HttpRpcPayloadCall, PayloadBody } from "../protocol/payload.ts";
import type { Handler } from "../protocol/protocol.ts";
import type { ResolvedRouterOptions } from "../server/options.ts";
import type { RequestFormat, ServerCall } from "../server/receive.ts";
import { decodeArguments } from "./arguments.ts";
import type { BodyContext, BodyFormat, BodyResponse } from "./body/format.ts";
import { BODY_FORMATS } from "./body/formats.ts";
import { notAcceptable, Refusal, serializationError, unsupportedType } from "./error-response.ts";
import { chooseMediaType, isUtf8, JSON_TYPE, type MediaType, parseMediaType, qualityOf } from "./media-type.ts";

/** The decoder of a request, and the format of its response unless `accept` selects another. */
export interface HttpRpcFormat extends RequestFormat {
  /** Loads the parser, before a body is decoded. `undefined`: the parser is part of the bundle. */
  readonly load?: (() => Promise<unknown>) | undefined;
  readonly response: ResponseFormat;
  /** The name of the request in errors, if browsers send it to any site with cookies and without a CORS preflight. */
  readonly safelisted?: string | undefined;
}

/** The encoder of a response, with its header fields. */
export interface ResponseFormat {
  readonly mediaType: string;
  /** Fields of every response in this format. */
  readonly fields: Metadata;
  /** Returns the quality value of the format in `accept`. */
  readonly qualityIn: (accept: string) => number;
  encode(message: object, method: Method, payload: HttpRpcPayloadCall | undefined): Uint8Array;
}

/** The headers of a request as typed values, with the formats that they select. */
export interface HttpRpcHeaders extends RequestHeaders {
  readonly format: HttpRpcFormat;
  readonly responseFormat: ResponseFormat;
  /** The value of content-length; `NaN` without one. */
  readonly contentLength: number;
}

/** A call whose headers have been read. */
export interface HttpRpcCall extends ServerCall<HttpRpcFormat, HttpRpcPayloadCall> {
  readonly headers: HttpRpcHeaders;
}

/** The formats of calls at one kind of address: the paths of methods, or a route of REST. */
export interface Formats {
  /** The path of the method. Default: that of the request. */
  readonly path?: string;
  /**
   * Finds the format of a request. Throws for a request that is invalid whatever its body: status 415 with a list of the
   * supported types if its content type is not supported.
   */
  findRequest(request: HttpRequest, handler: Handler): HttpRpcFormat;
  /** Returns the formats that a response may have, in order of preference, by media type. */
  responsesOf(handler: Handler): ReadonlyMap<string, ResponseFormat>;
}

/** Prepares all formats, which do not depend on a request. */
export function createFormats(options: ResolvedRouterOptions): Formats {
  const { values: json } = jsonCodecOf(options.codecs);
  const ownNames = options.codecs.map(({ name }) => `application/${name}`);
  const codecs = new Map(options.codecs.flatMap((codec) => namesOf(codec, ownNames).map((name) => [name, codec])));
  const requests = new Map(Array.from(codecs, ([name, codec]) => [name, codecFormat(name, codec)]));
  const openContext = (bytes: Uint8Array, { limits }: Handler): BodyContext => {
    const count = countOf(bytes, limits.maxMessageValues);
    return { json: createBodyJson(json, count), codecs, limits: options.bodyLimits, count };
  };
  const asJson = requests.get(JSON_TYPE)?.response ?? codecResponse(JSON_TYPE, jsonCodec);

  /** The formats of methods without schemas. They accept JSON without a JSON codec: codecs encode messages with schemas. */
  const payloadRequests: ReadonlyMap<string, HttpRpcFormat> = new Map([
    [JSON_TYPE, { ...codecFormat(JSON_TYPE, jsonCodec), response: asJson }],
  ]);

  /** Response formats of the additional kinds of body, by media type. */
  const bodyResponses = new Map(
    BODY_FORMATS.flatMap(({ response, mediaTypes }) =>
      response === undefined ? [] : mediaTypes.map((name) => [name, bodyResponse(name, response)] as const),
    ),
  );

  function bodyResponse(name: string, { parameters, encode, results }: BodyResponse): ResponseFormat {
    return {
      ...responseHead(name + parameters),
      encode(message, method, payload) {
        if (payload !== undefined) return results.encode(payload.resultOf(message, results.notation));
        const { output } = method as ProtoMethod;
        return encode(output, json.toValue(output, message));
      },
    };
  }

  function bodyFormat(format: BodyFormat, mediaType: MediaType, contentType: string): HttpRpcFormat {
    const { load, response, safelisted } = format;
    const answersInKind = response !== undefined && !response.onRequest;
    return {
      load,
      decode(bytes, handler, payload) {
        const { method, limits } = handler;
        const parse = (context: BodyContext): BodyContent => format.parse(bytes, mediaType, context);
        if (payload !== undefined) {
          const { maxMessageValues } = limits;
          const body = { bytes, maxMessageValues, parse: () => parse(openContext(bytes, handler)) };
          return (payload as HttpRpcPayloadCall).decode(body);
        }
        const context = openContext(bytes, handler);
        return format.decode((method as ProtoMethod).input, parse(context), context);
      },
      malformed: serializationError,
      response: (answersInKind && bodyResponses.get(mediaType.name)) || asJson,
      safelisted: safelisted ? `content type ${contentType}` : undefined,
    };
  }

  const codecsOf = ({ payload }: Handler): ReadonlyMap<string, HttpRpcFormat> =>
    payload === undefined ? requests : payloadRequests;

  function findOther(contentType: string = "", handler: Handler): HttpRpcFormat {
    const mediaType = parseMediaType(contentType);
    const formats = codecsOf(handler);
    const bodies = bodiesOf(handler);
    if (mediaType !== undefined) {
      const codec = formats.get(mediaType.name);
      if (codec !== undefined && isUtf8(mediaType)) return codec;
      const format = bodies.find(({ mediaTypes }) => mediaTypes.includes(mediaType.name));
      if (format !== undefined) return bodyFormat(format, mediaType, contentType);
    }
    throw unsupported(contentType, [
      ...[...formats.keys()].filter((name) => !PROTO_ALIASES.includes(name)),
      ...bodies.map(({ mediaTypes }) => mediaTypes[0] as string),
    ]);
  }

  return {
    findRequest(request, handler) {
      checkRequest(request, handler);
      const contentType = request.headers.get("content-type");
      return codecsOf(handler).get(contentType ?? "") ?? findOther(contentType, handler);
    },
    responsesOf(handler) {
      const responses = new Map(Array.from(codecsOf(handler), ([mediaType, { response }]) => [mediaType, response]));
      for (const { response, mediaTypes } of bodiesOf(handler)) {
        if (response === undefined || !fits(response, handler)) continue;
        for (const mediaType of mediaTypes) responses.set(mediaType, bodyResponses.get(mediaType) as ResponseFormat);
      }
      return responses;
    },
  };
}

/** Selects the format of a response. Throws status 406 if `accept` allows none of the available ones. */
export function chooseResponse(
  accept: string | undefined,
  { response }: HttpRpcFormat,
  formats: Formats,
  handler: Handler,
): ResponseFormat {
  if (accept === undefined || accept === "*/*" || accept === "") return response;
  // Spec: the response has the content type of the request. Another one is selected only if the caller does not
  // accept it.
  if (response.qualityIn(accept) > 0) return response;
  const responses = formats.responsesOf(handler);
  // The same format under another name, as application/xml for text/xml, comes first.
  const subtype = subtypeOf(response.mediaType);
  const names = [...responses.keys()].sort(
    (a, b) => Number(subtypeOf(b) === subtype) - Number(subtypeOf(a) === subtype),
  );
  const chosen = responses.get(chooseMediaType(accept, names) ?? "");
  if (chosen !== undefined) return chosen;
  const supported = [...responses.keys()].filter((name) => !PROTO_ALIASES.includes(name)).join(", ");
  throw notAcceptable(accept, `supported are: ${supported}`);
}

function subtypeOf(mediaType: string): string {
  return mediaType.slice(mediaType.indexOf("/") + 1);
}

/** Names that other implementations use for `application/proto`. */
const PROTO_ALIASES: readonly string[] = ["application/protobuf", "application/x-protobuf"];

/** Returns the media types of a codec. An alias that is the name of another codec belongs to that codec. */
function namesOf({ name }: Codec, ownNames: readonly string[]): string[] {
  const aliases = name === "proto" ? PROTO_ALIASES.filter((alias) => !ownNames.includes(alias)) : [];
  return [`application/${name}`, ...aliases];
}

function codecFormat(mediaType: string, codec: Codec): HttpRpcFormat {
  return {
    decode(bytes, { method, limits: { maxMessageValues } }, payload) {
      if (payload === undefined) {
        const { input, codecs } = method as ProtoMethod;
        return decodeArguments(codec, input, bytes, maxMessageValues, codecs?.input);
      }
      const body: PayloadBody = { bytes, maxMessageValues, parse: () => ({ shape: "json", bytes }) };
      return (payload as HttpRpcPayloadCall).decode(body);
    },
    malformed: serializationError,
    response: codecResponse(mediaType, codec),
  };
}

/** The format of responses that a codec encodes. Results of methods without schemas are JSON. */
function codecResponse(mediaType: string, codec: Codec): ResponseFormat {
  return {
    ...responseHead(mediaType),
    encode(message, method, payload) {
      if (payload !== undefined) return payload.encode(message);
      const { output, codecs } = method as ProtoMethod;
      return codec.encode(output, message, codecs?.output);
    },
  };
}

/** Throws for requests at the path of a method that are invalid whatever their body. */
function checkRequest({ method: httpMethod }: HttpRequest, { method }: Handler): void {
  const { kind } = method;
  if (httpMethod !== "POST") {
    throw new Refusal(405, Code.Unimplemented, `calls use the method POST, not ${httpMethod}`, { allow: "POST" });
  }
  if (kind !== "unary" && kind !== "server_streaming") throw needsGrpc(method);
}

/** Creates the error for a call of a streaming method that cannot be answered with server-sent events. */
export function needsGrpc({ kind, path }: Method): Refusal {
  const streaming = "application/grpc, application/grpc+proto, application/grpc+json, application/grpc-web";
  const needed = `gRPC over HTTP/2, or gRPC-Web, with one of the content types ${streaming}`;
  return unsupportedType(`${path} is ${kind.replace("_", " ")}; that needs ${needed}`, { "accept-post": streaming });
}

/** Creates the part of a format that depends on its content type only. */
export function responseHead(mediaType: string): Omit<ResponseFormat, "encode"> {
  const qualityIn = remember((accept) => qualityOf(accept, mediaType));
  return { mediaType, fields: responseFields(mediaType), qualityIn };
}

function fits(response: BodyResponse, { method, payload }: Handler): boolean {
  if (payload === undefined) return response.fits((method as ProtoMethod).output);
  return response.results.textOnly !== true || payload.isText(method);
}

/** Creates the fields of responses with a content type. `nosniff` keeps browsers from reading them as pages. */
export function responseFields(contentType: string): Metadata {
  return new Metadata({ "content-type": contentType, "x-content-type-options": "nosniff" }).freeze();
}

function bodiesOf({ bodies, payload }: Handler): readonly BodyFormat[] {
  return bodies.length === 0 || payload?.codec !== undefined
    ? []
    : BODY_FORMATS.filter(({ kind }) => bodies.includes(kind));
}

/** Creates the error for a content type that is not supported. Empty: it is missing. */
export function unsupported(contentType: string, mediaTypes: readonly string[]): Refusal {
  const supported = mediaTypes.join(", ");
  const problem =
    contentType === "" ? "the content type is missing" : `content type ${clipText(contentType, 100)} is not supported`;
  return unsupportedType(`${problem}; supported are: ${supported}`, { "accept-post": supported });
}
