/**
 * A body format: everything that sub-protocol A has to know of a kind of body beside those of the codecs (spec: Additional
 * request content types). Each has a file of its own, and a row in `formats.ts`.
 */
import type { DescMessage, JsonValue } from "@bufbuild/protobuf";
import type { BodyContent, BodyKind } from "../../call/method.ts";
import type { Codec, JsonValues } from "../../codec/codec.ts";
import type { DecodeLimits } from "../../codec/large-message.ts";
import type { BodyLimits } from "../../protocol/options.ts";
import type { MediaType } from "../media-type.ts";

export interface BodyFormat {
  /** Its name in the option `bodies`. */
  readonly kind: BodyKind;
  /** The first one is the format's own name; the others are aliases. */
  readonly mediaTypes: readonly string[];
  /** Whether browsers send it to any site with cookies and without a CORS preflight. */
  readonly safelisted: boolean;
  /** Loads a parser that is not part of the bundle. */
  load?(): Promise<unknown>;
  /** Parses a body as far as that takes no types. Throws an `RpcError`, or anything for bytes that are malformed. */
  parse(bytes: Uint8Array, mediaType: MediaType, context: BodyContext): BodyContent;
  /** Decodes what `parse` returned into a message. Throws an `RpcError`, or anything for a body that is not for the type. */
  decode(type: DescMessage, content: BodyContent, context: BodyContext): object | Promise<object>;
  /** Absent: the format is for requests only. */
  readonly response?: BodyResponse;
}

/** Encoder of responses in a format. */
export interface BodyResponse {
  /** The name of the format for methods without schemas. */
  readonly shape: "text" | "xml";
  /** Whether only `accept` asks for it. If not, requests in the format are answered in it; others are answered in JSON. */
  readonly onRequest: boolean;
  /** The parameters that follow the media type in the content type. */
  readonly parameters: string;
  /** Whether messages of the type can be written so. */
  fits(type: DescMessage): boolean;
  /** Writes a message, given in JSON. */
  encode(type: DescMessage, value: JsonValue): Uint8Array;
}

/** Settings of a server that its formats share. */
export interface BodyContext {
  /** The JSON of the server's codec, which knows its registry, within the limit on decoded memory. */
  readonly json: JsonValues;
  /** The server's codecs by their media types, aliases included. */
  readonly codecs: ReadonlyMap<string, Codec>;
  readonly limits: BodyLimits;
  /** Limits of a message that a codec decodes. */
  readonly decodeLimits: DecodeLimits;
}
