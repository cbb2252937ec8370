/**
 * Content negotiation of sub-protocol A: selects the decoder of a request by its content type, and the encoder of the
 * response by `accept` (RFC 9110, section 12.5.1).
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Handler } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { Metadata } from "../call/metadata.ts";
import type { GeneratedCodec, HttpRpcPayloadCall, Method, PayloadBody } from "../call/method.ts";
import { countOf, createBodyJson, jsonValuesOf } from "../codec/bounded-codec.ts";
import { type Codec, jsonCodec } from "../codec/codec.ts";
import { clipText, quote } from "../protocol/error.ts";
import type { ServerProtocolOptions } from "../protocol/options.ts";
import { decodeArguments } from "./arguments.ts";
import type { BodyContext, BodyFormat, BodyResponse } from "./body/format.ts";
import { BODY_FORMATS } from "./body/formats.ts";
import { Refusal } from "./error-response.ts";
import { chooseMediaType, isUtf8, JSON_TYPE, type MediaType, parseMediaType, qualityOf } from "./media-type.ts";

/** The decoder of a request, and the format of its response unless `accept` selects another. */
export interface RequestFormat {
  /** Loads the parser, before a body is decoded. `undefined`: the parser is part of the bundle. */
  readonly load?: (() => Promise<unknown>) | undefined;
  decode(type: DescMessage, bytes: Uint8Array, maxMessageValues: number, generated?: GeneratedCodec): object;
  /** Creates the body that a binding, or the payload of a method without schemas, decodes. */
  openBody(bytes: Uint8Array, maxMessageValues: number): PayloadBody;
  readonly response: ResponseFormat;
  /** True if browsers send the content type to any site, with cookies and without a CORS preflight. */
  readonly safelisted: boolean;
}

/** The encoder of a response, with its header fields. */
export interface ResponseFormat {
  readonly mediaType: string;
  /** Fields of every response in this format. */
  readonly fields: Metadata;
  encode(type: DescMessage, message: object, generated?: GeneratedCodec): Uint8Array;
  /** Encodes the response of a method without schemas. */
  encodeResult(call: HttpRpcPayloadCall, message: object): Uint8Array;
}

export interface Formats {
  /**
   * Finds the format of a request's content type. Throws status 415 with a list of the supported types if there is
   * none.
   */
  findRequest(contentType: string | undefined, handler: Handler): RequestFormat;
  /** Selects the format of the response. Throws status 406 if `accept` allows none of the available ones. */
  chooseResponse(accept: string | undefined, request: RequestFormat, handler: Handler): ResponseFormat;
}

/** Prepares all formats, which do not depend on a request. */
export function createFormats(options: ServerProtocolOptions): Formats {
  const json = jsonValuesOf(options.codecs);
  const ownNames = options.codecs.map(({ name }) => `application/${name}`);
  const codecs = new Map(options.codecs.flatMap((codec) => namesOf(codec, ownNames).map((name) => [name, codec])));
  const requests = new Map(Array.from(codecs, ([name, codec]) => [name, codecFormat(name, codec)]));
  const openContext = (bytes: Uint8Array, maxMessageValues: number): BodyContext => {
    const count = countOf(bytes, maxMessageValues);
    return { json: createBodyJson(json, count), codecs, limits: options.bodyLimits, count };
  };
  const asJson = requests.get(JSON_TYPE)?.response ?? codecResponse(JSON_TYPE, jsonCodec);

  /**
   * The formats of methods whose messages have no schema, and of calls with a binding. They accept JSON even without a JSON
   * codec, because codecs encode messages with schemas.
   */
  const payloadRequests: ReadonlyMap<string, RequestFormat> = new Map([
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
      encode: (type, message) => encode(type, json.toValue(type, message)),
      encodeResult: (call, message) => results.encode(call.resultOf(message, results.notation)),
    };
  }

  function bodyFormat(format: BodyFormat, mediaType: MediaType): RequestFormat {
    const { load, response, safelisted } = format;
    const answersInKind = response !== undefined && !response.onRequest;
    return {
      load,
      decode(type, bytes, maxMessageValues) {
        const context = openContext(bytes, maxMessageValues);
        return format.decode(type, format.parse(bytes, mediaType, context), context);
      },
      openBody: (bytes, maxMessageValues) => ({
        bytes,
        maxMessageValues,
        parse: () => format.parse(bytes, mediaType, openContext(bytes, maxMessageValues)),
      }),
      response: (answersInKind && bodyResponses.get(mediaType.name)) || asJson,
      safelisted,
    };
  }

  const codecsOf = ({ method, binding }: Handler): ReadonlyMap<string, RequestFormat> =>
    method.payload === undefined && binding === undefined ? requests : payloadRequests;

  function findOther(contentType: string | undefined, handler: Handler): RequestFormat {
    const mediaType = contentType === undefined ? undefined : parseMediaType(contentType);
    const formats = codecsOf(handler);
    const bodies = bodiesOf(handler);
    if (mediaType !== undefined) {
      const codec = formats.get(mediaType.name);
      if (codec !== undefined && isUtf8(mediaType)) return codec;
      const format = bodies.find(({ mediaTypes }) => mediaTypes.includes(mediaType.name));
      if (format !== undefined) return bodyFormat(format, mediaType);
    }
    throw unsupported(contentType, [
      ...[...formats.keys()].filter((name) => !PROTO_ALIASES.includes(name)),
      ...bodies.map(({ mediaTypes }) => mediaTypes[0] as string),
    ]);
  }

  /** Returns the formats that a response may have, in order of preference, by media type. */
  function responsesOf(handler: Handler): Map<string, ResponseFormat> {
    const responses = new Map(Array.from(codecsOf(handler), ([mediaType, { response }]) => [mediaType, response]));
    for (const { response, mediaTypes } of bodiesOf(handler)) {
      if (response === undefined || !fits(response, handler.method)) continue;
      for (const mediaType of mediaTypes) responses.set(mediaType, bodyResponses.get(mediaType) as ResponseFormat);
    }
    return responses;
  }

  return {
    findRequest: (contentType, handler) => codecsOf(handler).get(contentType ?? "") ?? findOther(contentType, handler),
    chooseResponse(accept, { response }, handler) {
      if (accept === undefined || accept === "*/*" || accept === "") return response;
      // Spec: the response has the content type of the request. Another one is selected only if the caller does not
      // accept it.
      if (qualityOf(accept, response.mediaType) > 0) return response;
      const responses = responsesOf(handler);
      // The same format under another name, as application/xml for text/xml, comes first.
      const subtype = subtypeOf(response.mediaType);
      const names = [...responses.keys()].sort(
        (a, b) => Number(subtypeOf(b) === subtype) - Number(subtypeOf(a) === subtype),
      );
      const chosen = responses.get(chooseMediaType(accept, names) ?? "");
      if (chosen !== undefined) return chosen;
      const supported = [...responses.keys()].filter((name) => !PROTO_ALIASES.includes(name)).join(", ");
      throw new Refusal(
        406,
        Code.InvalidArgument,
        `nothing that ${quote(`accept: ${accept}`)} names is supported; supported are: ${supported}`,
      );
    },
  };
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

function codecFormat(mediaType: string, codec: Codec): RequestFormat {
  return {
    decode: (type, bytes, maxMessageValues, generated) =>
      decodeArguments(codec, type, bytes, maxMessageValues, generated),
    openBody: (bytes, maxMessageValues) => ({ bytes, maxMessageValues, parse: () => ({ shape: "json", bytes }) }),
    response: codecResponse(mediaType, codec),
    safelisted: false,
  };
}

/** The format of responses that a codec encodes. Results of methods without schemas are JSON. */
function codecResponse(mediaType: string, codec: Codec): ResponseFormat {
  return {
    ...responseHead(mediaType),
    encode: (type, message, generated) => codec.encode(type, message, generated),
    encodeResult: (call, message) => call.encode(message),
  };
}

function responseHead(contentType: string): Pick<ResponseFormat, "mediaType" | "fields"> {
  return { mediaType: contentType, fields: responseFields(contentType) };
}

function fits(response: BodyResponse, method: Method): boolean {
  if (method.payload === undefined) return response.fits(method.output);
  return response.results.textOnly !== true || method.payload.server?.isText(method) === true;
}

/**
 * Creates the fields of responses with a content type. `nosniff` prevents browsers from interpreting a response as a
 * page.
 */
export function responseFields(contentType: string): Metadata {
  return new Metadata({ "content-type": contentType, "x-content-type-options": "nosniff" }).freeze();
}

function bodiesOf({ bodies = [] }: Handler): readonly BodyFormat[] {
  return bodies.length === 0 ? [] : BODY_FORMATS.filter(({ kind }) => bodies.includes(kind));
}

function unsupported(contentType: string | undefined, mediaTypes: readonly string[]): Refusal {
  const supported = mediaTypes.join(", ");
  const problem =
    contentType === undefined
      ? "the content type is missing"
      : `content type ${clipText(contentType, 100)} is not supported`;
  return new Refusal(415, Code.Unimplemented, `${problem}; supported are: ${supported}`, { "accept-post": supported });
}
