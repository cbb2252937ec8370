/**
 * Multipart bodies: `multipart/form-data` (spec: Additional request content types). Each part is decoded by its own
 * content type, and a parameter of bytes receives its part undecoded.
 */
import { type DescField, fromBinary, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import type { MultipartError, PartInfo } from "multipasta";
import { Code } from "../../call/code.ts";
import type { RpcError } from "../../call/error.ts";
import { decodeJson, type JsonValues } from "../../codec/codec.ts";
import { clipText, quote } from "../../protocol/error.ts";
import { Refusal } from "../error-response.ts";
import { badRequest } from "../headers.ts";
import { canonicalType, type MediaType, parseMediaType } from "../media-type.ts";
import { type BodyInput, bindParameters, type FieldValue, messageFrom, type Named, parseText } from "./parameters.ts";
import { decodeText } from "./text.ts";
import { decodeXml } from "./xml.ts";

/** More parts than this are refused. */
const MAX_PARTS = 128;

/** One part, undecoded. */
export interface Part {
  readonly mediaType: MediaType;
  readonly bytes: Uint8Array;
}

/** Decodes the parts of a body into a request message: by their names, or by their order if no name is known. */
export async function decodeMultipart({ type, bytes, mediaType, json }: BodyInput): Promise<object> {
  const parts = await parseParts(bytes, mediaType.parameters.get("boundary"));
  const values: FieldValue<JsonValue | Uint8Array>[] = [];
  for (const { field, value: part } of bindParameters(type, parts)) {
    const value = await decodePart(json, field, part);
    for (const item of isWholeList(field, part, value) ? value : [value]) {
      if (item !== undefined) values.push({ field, value: item });
    }
  }
  return messageFrom(json, type, values);
}

/** JSON has a form for all items of a list; the other content types have one for a single item. */
function isWholeList(field: DescField, { mediaType }: Part, value: unknown): value is JsonValue[] {
  return field.fieldKind === "list" && Array.isArray(value) && mediaType.name === "application/json";
}

//     boundary = 0*69<bchars> bcharsnospace
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/;

/** Takes a body apart at its boundary. Throws for one that breaks the grammar or ends early. */
export async function parseParts(bytes: Uint8Array, boundary: string | undefined): Promise<Named<Part>[]> {
  if (boundary === undefined || !BOUNDARY.test(boundary)) {
    throw badRequest("the content type multipart/form-data must have a boundary of 1 to 70 characters");
  }
  // Loaded when the first such body arrives: most programs never see one.
  const { make } = await import("multipasta");
  const parts: Named<Part>[] = [];
  let done = false;
  let last: PartInfo | undefined;
  const parser = make({
    headers: { "content-type": `multipart/form-data; boundary="${boundary}"` },
    maxParts: MAX_PARTS,
    maxFieldSize: Number.POSITIVE_INFINITY,
    isFile: () => false,
    onFile: () => () => {},
    onField: (info: PartInfo | undefined, value) => {
      if (done) return;
      // A part whose headers do not end is reported with those of the part before it.
      if (info === undefined || info === last) throw badRequest("a part of the body has headers that do not end");
      last = info;
      parts.push({ name: info.name, value: { mediaType: mediaTypeOf(info), bytes: value } });
    },
    onDone: () => {
      done = true;
    },
    onError: (error) => {
      // What follows the end of the last part is no part of the body.
      if (!done) throw partError(error);
    },
  });
  parser.write(bytes);
  parser.end();
  if (!done) throw partError({ _tag: "EndNotReached" });
  // RFC 2046, section 5.1.1: encapsulation = 1*encapsulated-part
  if (parts.length === 0) throw badRequest("the body has no parts; a multipart body has at least one");
  return parts;
}

type HeaderProblem = Extract<MultipartError, { _tag: "BadHeaders" }>["error"]["reason"];

const HEADER_PROBLEMS: Readonly<Record<HeaderProblem, string>> = {
  HeaderTooLarge: "they are larger than the limit of 16 KiB",
  TooManyHeaders: "they are more than the limit of 100",
  InvalidHeaderName: "a name is empty or has a character that no name may have",
  InvalidHeaderValue: "a value has a character that no value may have",
};

function partError(error: MultipartError): RpcError {
  switch (error._tag) {
    case "ReachedLimit":
      return badRequest(`the body has more than the limit of ${MAX_PARTS} parts`);
    case "EndNotReached":
      return badRequest("the body does not have parts that begin and end with the boundary of its content type");
    case "BadHeaders":
      return badRequest(`a part of the body has malformed headers: ${HEADER_PROBLEMS[error.error.reason]}`);
    default:
      return badRequest("a part of the body has no content-disposition of form-data with a name");
  }
}

/** The content type of a part as it was sent; text is the default. */
function mediaTypeOf({ name, contentDisposition, headers }: PartInfo): MediaType {
  if (contentDisposition !== "form-data") throw partError({ _tag: "InvalidDisposition" });
  const { "content-type": contentType = "text/plain" } = headers;
  const mediaType = typeof contentType === "string" ? parseMediaType(contentType) : undefined;
  if (mediaType !== undefined) return mediaType;
  throw badRequest(`part ${quote(name)} has a malformed content type`);
}

type PartDecoder = (json: JsonValues, field: DescField, part: Part) => Promise<JsonValue> | JsonValue | undefined;

/** How a part becomes the JSON value of its field, by its content type. */
const PART_DECODERS: Readonly<Record<string, PartDecoder>> = {
  "text/plain": (_json, field, { bytes, mediaType }) =>
    parseText(field, decodeText(bytes, mediaType.parameters.get("charset"))),
  "application/json": (_json, _field, { bytes }) => decodeJson(bytes),
  "application/proto": (json, field, { bytes }) => {
    const type = requireMessage(field, "application/proto");
    return json.toValue(type, fromBinary(type, bytes));
  },
  "application/xml": (_json, field, { bytes, mediaType }) =>
    decodeXml(requireMessage(field, "application/xml"), bytes, mediaType.parameters.get("charset")),
};

function decodePart(
  json: JsonValues,
  field: DescField,
  part: Part,
): Uint8Array | Promise<JsonValue> | JsonValue | undefined {
  if (field.scalar === ScalarType.BYTES && field.fieldKind !== "map") return part.bytes;
  const decode = PART_DECODERS[canonicalType(part.mediaType.name)];
  if (decode !== undefined) return decode(json, field, part);
  throw unsupportedFor(field, part.mediaType.name);
}

function requireMessage(field: DescField, contentType: string): NonNullable<DescField["message"]> {
  if (field.message !== undefined && field.fieldKind !== "map") return field.message;
  throw unsupportedFor(field, contentType);
}

function unsupportedFor(field: DescField, contentType: string): RpcError {
  const supported = Object.keys(PART_DECODERS).filter(
    (one) => field.message !== undefined || one === "text/plain" || one === "application/json",
  );
  return unsupportedPart(field.jsonName, contentType, supported);
}

/** Refuses the content type of a part. */
export function unsupportedPart(name: string, contentType: string, supported: readonly string[]): RpcError {
  const problem = `content type ${clipText(contentType, 100)} is not supported for the part ${quote(name)}`;
  return new Refusal(415, Code.Internal, `${problem}; supported are: ${supported.join(", ")}`);
}
