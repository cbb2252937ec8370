/**
 * Content: what the content type of a request and the types its sender accepts decide about how the request is decoded
 * and the response encoded.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Handler } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { Metadata } from "../call/metadata.ts";
import type { PayloadBody } from "../call/method.ts";
import { type Codec, type JsonValues, jsonCodec } from "../codec/codec.ts";
import { boundValues, type DecodeLimits } from "../codec/large-message.ts";
import { clipText, quote } from "../protocol/error.ts";
import type { ServerOptions } from "../protocol/options.ts";
import { decodeArguments } from "./arguments.ts";
import { BODY_FORMATS, type BodyFormat } from "./body/formats.ts";
import { encodeTextBody, isText } from "./body/text.ts";
import { encodeXml } from "./body/xml.ts";
import { Refusal } from "./error-response.ts";
import { canonicalType, chooseMediaType, isUtf8, type MediaType, parseMediaType, qualityOf } from "./media-type.ts";

/** How a request is decoded, and what its response looks like if nothing else is asked for. */
export interface RequestFormat {
  decode(type: DescMessage, bytes: Uint8Array): object | Promise<object>;
  /** The same for methods that bring a payload. */
  readonly body: Omit<PayloadBody, "bytes">;
  readonly response: ResponseFormat;
  /** Whether any page may send it without a CORS preflight. */
  readonly safelisted: boolean;
}

/** How a response is encoded. */
export interface ResponseFormat {
  readonly mediaType: string;
  /** The fields that every such response has. */
  readonly fields: Metadata;
  encode(type: DescMessage, message: object): Uint8Array;
  /** The same for methods that bring a payload. */
  readonly format: "json" | "text" | "xml";
}

export interface Content {
  /** The format of a request's content type. Refuses what is not supported with 415, and says what is. */
  findRequest(contentType: string | undefined, handler: Handler): RequestFormat;
  /** The format of the response. Refuses with 406 if the caller accepts none there is. */
  chooseResponse(accept: string | undefined, request: RequestFormat, handler: Handler): ResponseFormat;
}

/** Settles what does not depend on a request. */
export function createContent(options: ServerOptions): Content {
  const json = options.codecs.find(({ values }) => values !== undefined)?.values ?? (jsonCodec.values as JsonValues);
  const bounded = boundValues(json, options);
  const requests = new Map(options.codecs.map((codec) => [`application/${codec.name}`, codecFormat(codec, options)]));
  const xml = responseFormat("application/xml", (type, message) => encodeXml(type, json.toValue(type, message)), "xml");
  const text = responseFormat(
    "text/plain; charset=utf-8",
    (type, message) => encodeTextBody(type, json.toValue(type, message)),
    "text",
  );
  const { encode: encodeJson } = requests.get("application/json")?.response ?? jsonCodec;
  const asJson = responseFormat("application/json", encodeJson, "json");

  /** Methods that bring a payload take JSON whatever the codecs, which are for schemas. */
  const payloadRequests: ReadonlyMap<string, RequestFormat> = new Map([
    ["application/json", { ...codecFormat(jsonCodec, options), response: asJson }],
  ]);

  function bodyFormat(format: BodyFormat, mediaType: MediaType): RequestFormat {
    return {
      decode: (type, bytes) => format.decode({ type, bytes, mediaType, json: bounded }),
      body: { format: format.kind, parameters: mediaType.parameters },
      response: format.responseType === "application/xml" ? xml : asJson,
      safelisted: format.safelisted,
    };
  }

  const codecsOf = ({ method }: Handler): ReadonlyMap<string, RequestFormat> =>
    method.payload === undefined ? requests : payloadRequests;

  function findOther(contentType: string | undefined, handler: Handler): RequestFormat {
    const mediaType = contentType === undefined ? undefined : parseMediaType(contentType);
    const codecs = codecsOf(handler);
    const bodies = bodiesOf(handler);
    if (mediaType !== undefined) {
      const codec = codecs.get(canonicalType(mediaType.name));
      if (codec !== undefined && isUtf8(mediaType)) return codec;
      const format = bodies.find(({ mediaTypes }) => mediaTypes.includes(mediaType.name));
      if (format !== undefined) return bodyFormat(format, mediaType);
    }
    throw unsupported(contentType, [...codecs.keys(), ...bodies.map(({ mediaTypes }) => mediaTypes[0] as string)]);
  }

  /** The formats a response may have, in the order of preference. */
  function responsesOf(handler: Handler): Map<string, ResponseFormat> {
    const responses = new Map(Array.from(codecsOf(handler), ([mediaType, { response }]) => [mediaType, response]));
    for (const { kind, mediaTypes } of bodiesOf(handler)) {
      if (kind === "xml") for (const mediaType of mediaTypes) responses.set(mediaType, xml);
      if (kind === "text" && returnsText(handler)) responses.set("text/plain", text);
    }
    return responses;
  }

  return {
    findRequest: (contentType, handler) => codecsOf(handler).get(contentType ?? "") ?? findOther(contentType, handler),
    chooseResponse(accept, { response }, handler) {
      if (accept === undefined || accept === "*/*" || accept === "") return response;
      // Spec: the same content type as the request; another one only for those who cannot take that.
      if (qualityOf(accept, response.mediaType) > 0) return response;
      const responses = responsesOf(handler);
      const chosen = responses.get(chooseMediaType(accept, [...responses.keys()]) ?? "");
      if (chosen !== undefined) return chosen;
      const supported = [...responses.keys()].join(", ");
      throw new Refusal(
        406,
        Code.InvalidArgument,
        `nothing that ${quote(`accept: ${accept}`)} names is supported; supported are: ${supported}`,
      );
    },
  };
}

function codecFormat(codec: Codec, limits: DecodeLimits): RequestFormat {
  return {
    decode: (type, bytes) => decodeArguments(codec, type, bytes, limits),
    body: JSON_BODY,
    response: responseFormat(`application/${codec.name}`, (type, message) => codec.encode(type, message), "json"),
    safelisted: false,
  };
}

const JSON_BODY: RequestFormat["body"] = { format: "json", parameters: new Map() };

function responseFormat(
  mediaType: string,
  encode: ResponseFormat["encode"],
  format: ResponseFormat["format"],
): ResponseFormat {
  return { mediaType, fields: responseFields(mediaType), encode, format };
}

function returnsText({ method }: Handler): boolean {
  return method.payload === undefined ? isText(method.output) : method.payload.server?.returnsText(method) === true;
}

/** `nosniff` says that the body is what its content type says, so that no browser takes an answer for a page. */
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
  return new Refusal(415, Code.Internal, `${problem}; supported are: ${supported}`, { "accept-post": supported });
}
