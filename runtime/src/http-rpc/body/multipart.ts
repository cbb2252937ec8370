/**
 * Multipart bodies: `multipart/form-data` (RFC 7578; spec: Additional request content types). Each part is decoded by
 * its content type; a parameter of bytes receives the undecoded part.
 */
import type { DescField, DescMessage, JsonValue, Message } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import type { MultipartError, PartInfo } from "multipasta";
import type { RpcError } from "../../call/error.ts";
import type { BodyJson } from "../../codec/bounded-codec.ts";
import type { Codec } from "../../codec/codec.ts";
import { clipText, quote } from "../../protocol/error.ts";
import type { BodyContent, BodyPart, NamedValue } from "../../protocol/payload.ts";
import { unsupportedType } from "../error-response.ts";
import { badRequest } from "../headers.ts";
import { isUtf8, JSON_TYPE, type MediaType, parseMediaType } from "../media-type.ts";
import { mapOfPairs } from "./form.ts";
import type { BodyContext, BodyFormat } from "./format.ts";
import { decodeParameters, holdsBytes, Items, type PartValue, parseText } from "./parameters.ts";
import { noteUpload } from "./upload.ts";
import { fieldValue, xml } from "./xml.ts";

type MultipartContent = Extract<BodyContent, { shape: "parts" }>;

/** Creates the format `multipart/form-data`, whose parts may have the types of the server's codecs and of `formats`. */
export function createMultipart(formats: readonly BodyFormat[]): BodyFormat {
  return {
    kind: "multipart",
    mediaTypes: ["multipart/form-data"],
    safelisted: true,
    load: () => Promise.all([loadMultipartParser(), ...formats.map(({ load }) => load?.())]),
    parse(bytes, { parameters }, context) {
      const parts = parseParts(bytes, parameters.get("boundary"), context.limits.parts);
      const values = parts.map(({ name, value }) => ({ name, value: new Part(name, value, formats, context) }));
      return { shape: "parts", values };
    },
    decode: (type, { values }: MultipartContent, { json }) =>
      decodeParameters(json, type, values, (field, part) => decodePart(json, field, part as Part)),
  };
}

/** A part of a body. It is parsed on demand, because a parameter of bytes receives it undecoded. */
class Part implements BodyPart {
  readonly bytes: Uint8Array;
  readonly name: string;
  readonly #given: MediaType | undefined;
  readonly #formats: readonly BodyFormat[];
  readonly #context: BodyContext;

  constructor(name: string, { bytes, mediaType }: RawPart, formats: readonly BodyFormat[], context: BodyContext) {
    this.name = name;
    this.bytes = bytes;
    this.#given = mediaType;
    this.#formats = formats;
    this.#context = context;
  }

  /** Throws status 400 if it is malformed. A parameter of bytes does not need it. */
  get #mediaType(): MediaType {
    if (this.#given === undefined) throw badRequest(`part ${quote(this.name)} has a malformed content type`);
    return this.#given;
  }

  get #codec(): Codec | undefined {
    return this.#context.codecs.get(this.#mediaType.name);
  }

  get #format(): BodyFormat | undefined {
    return this.#formats.find(({ mediaTypes }) => mediaTypes.includes(this.#mediaType.name));
  }

  get #isJson(): boolean {
    return this.#mediaType.name === JSON_TYPE || this.#codec?.values !== undefined;
  }

  /** True for text and JSON, which can represent values of every type. */
  get isText(): boolean {
    return this.#isJson || this.#mediaType.name === "text/plain";
  }

  /** Reports whether the content type is one of these. */
  isOneOf(mediaTypes: readonly string[]): boolean {
    return mediaTypes.includes(this.#mediaType.name);
  }

  parse(): BodyContent {
    if (this.#isJson) {
      if (isUtf8(this.#mediaType)) return { shape: "json", bytes: this.bytes };
      throw unsupportedType(`the charset of the part ${quote(this.name)}, which is JSON, must be UTF-8`);
    }
    const format = this.#format;
    if (format === undefined) throw this.unsupported(this.#formats.flatMap(({ mediaTypes }) => mediaTypes));
    return format.parse(this.bytes, this.#mediaType, this.#context);
  }

  /** Decodes the part into a message by a codec of the server or another format. Throws status 415 for other types. */
  decode(type: DescMessage): object {
    const format = this.#format;
    if (format !== undefined) return format.decode(type, this.parse(), this.#context);
    const { codecs, count } = this.#context;
    const codec = codecs.get(this.#mediaType.name);
    if (codec !== undefined) return codec.decode(type, this.bytes, undefined, count);
    throw this.unsupported([...codecs.keys(), ...this.#formats.flatMap(({ mediaTypes }) => mediaTypes)]);
  }

  /** Creates the error for a content type that is not valid for the part's parameter. */
  unsupported(others: readonly string[]): RpcError {
    const supported = [...new Set(["text/plain", JSON_TYPE, ...others])].join(", ");
    const type = clipText(this.#mediaType.name, 100);
    const problem = `content type ${type} is not supported for the part ${quote(this.name)}`;
    return unsupportedType(`${problem}; supported are: ${supported}`);
  }
}

/** Decodes the value of a part for its field: `undefined` for an empty text, all items for a list in JSON. */
function decodePart(json: BodyJson, field: DescField, part: Part): PartValue | undefined {
  const isMap = field.fieldKind === "map";
  if (!isMap && holdsBytes(field)) return part.bytes;
  const message = isMap ? undefined : field.message;
  if (!part.isText && message !== undefined) return reflect(message, part.decode(message) as Message);
  // Codecs decode messages only, and a form has names for its values.
  const others = isMap ? [FORM_TYPE, ...xml.mediaTypes] : xml.mediaTypes;
  if (!part.isText && !part.isOneOf(others)) throw part.unsupported(others);
  try {
    return decodeContent(json, field, part.parse());
  } catch (cause) {
    // Other errors name the parameter, or are those of limits.
    if (cause instanceof SyntaxError) throw new SyntaxError(`part ${quote(part.name)}: ${cause.message}`, { cause });
    throw cause;
  }
}

function decodeContent(json: BodyJson, field: DescField, content: BodyContent): PartValue | undefined {
  if (content.shape === "text") return parseText(json, field, content.text);
  if (content.shape === "pairs") return mapOfPairs(json, field, content.values);
  if (content.shape === "element") return asItems(field, fieldValue(json, field, content.element));
  const value = json.parse((content as Extract<BodyContent, { shape: "json" }>).bytes);
  return asItems(field, value);
}

function asItems(field: DescField, value: JsonValue | undefined): PartValue | undefined {
  return field.fieldKind === "list" && Array.isArray(value) ? new Items(value) : value;
}

const FORM_TYPE = "application/x-www-form-urlencoded";

/** The content type and the undecoded bytes of a part. */
interface RawPart {
  readonly mediaType: MediaType | undefined;
  readonly bytes: Uint8Array;
}

let multipasta: typeof import("multipasta") | undefined;

/** Loads the parser of multipart bodies when the first one arrives, because most programs never receive one. */
export async function loadMultipartParser(): Promise<void> {
  multipasta ??= await import("multipasta");
}

//     boundary = 0*69<bchars> bcharsnospace
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/;
/** The disposition of browsers, also with other parameters. The parser reads none with characters above U+00FF, as in file names. */
const DISPOSITION = /^form-data; *name="((?:[^"\\]|\\.)*)"(?:; *filename="((?:[^"\\]|\\.)*)")?(?:;.*)?$/i;

/** Splits a body at its boundary, with the loaded parser. Throws for a body that is malformed or ends early. */
export function parseParts(bytes: Uint8Array, boundary: string | undefined, maxParts: number): NamedValue<RawPart>[] {
  if (boundary === undefined || !BOUNDARY.test(boundary)) {
    throw badRequest("the content type multipart/form-data must have a boundary of 1 to 70 characters");
  }
  const { make } = multipasta as NonNullable<typeof multipasta>;
  const parts: NamedValue<RawPart>[] = [];
  let done = false;
  let last: PartInfo | undefined;
  const parser = make({
    headers: { "content-type": `multipart/form-data; boundary="${boundary}"` },
    maxParts,
    maxFieldSize: Number.POSITIVE_INFINITY,
    isFile: () => false,
    onFile: () => () => {},
    onField: (info: PartInfo | undefined, value) => {
      if (done) return;
      // If the headers of a part do not end, the parser reports it with the headers of the previous part.
      if (info === undefined || info === last) throw badRequest("a part of the body has headers that do not end");
      last = info;
      const { "content-type": contentType, "content-disposition": disposition } = info.headers;
      const read = info.contentDisposition === "form-data" ? [] : DISPOSITION.exec(String(disposition));
      if (read === null) throw partError({ _tag: "InvalidDisposition" }, 0);
      const [, name = info.name, fileName = info.filename] = read;
      noteUpload(value, { fileName, contentType: typeof contentType === "string" ? contentType : undefined });
      parts.push({ name, value: { mediaType: mediaTypeOf(info), bytes: value } });
    },
    onDone: () => {
      done = true;
    },
    onError: (error) => {
      // Bytes after the closing boundary are an epilogue, which is ignored (RFC 2046, section 5.1.1).
      if (!done) throw partError(error, maxParts);
    },
  });
  parser.write(bytes);
  parser.end();
  if (!done) throw partError({ _tag: "EndNotReached" }, maxParts);
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

function partError(error: MultipartError, maxParts: number): RpcError {
  switch (error._tag) {
    case "ReachedLimit":
      return badRequest(`the body has more than the limit of ${maxParts} parts`);
    case "EndNotReached":
      return badRequest("the body does not have parts that begin and end with the boundary of its content type");
    case "BadHeaders":
      return badRequest(`a part of the body has malformed headers: ${HEADER_PROBLEMS[error.error.reason]}`);
    default:
      return badRequest("a part of the body has no content-disposition of form-data with a name");
  }
}

/** Returns the content type of a part; `undefined` if it is malformed. Default: text. */
function mediaTypeOf({ headers }: PartInfo): MediaType | undefined {
  const { "content-type": contentType = "text/plain" } = headers;
  return typeof contentType === "string" ? parseMediaType(contentType) : undefined;
}
