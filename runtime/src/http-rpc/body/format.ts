/**
 * Body formats: the interface between sub-protocol A and a kind of body that no codec reads (spec: Additional request
 * content types). Each format has a file of its own and a row in `formats.ts`.
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
  /** Media types of the format. The first is its main name, the others are aliases. */
  readonly mediaTypes: readonly string[];
  /** True if browsers send it to any site, with cookies and without a CORS preflight. */
  readonly safelisted: boolean;
  /** Loads a parser that is not part of the bundle. */
  load?(): Promise<unknown>;
  /** Parses a body without the types of its values. Throws an `RpcError`, or any error for malformed bytes. */
  parse(bytes: Uint8Array, mediaType: MediaType, context: BodyContext): BodyContent;
  /**
   * Decodes the result of `parse` into a message. Throws an `RpcError`, or any error for a body that does not fit the
   * type.
   */
  decode(type: DescMessage, content: BodyContent, context: BodyContext): object | Promise<object>;
  /** The encoder of responses. If absent, the format is for requests only. */
  readonly response?: BodyResponse;
}

/** Encoder of responses in a format. */
export interface BodyResponse {
  /** The name of the format for methods without schemas. */
  readonly shape: "text" | "xml";
  /**
   * False if only `accept` selects the format. True: requests in the format are answered in it. All other responses are
   * JSON.
   */
  readonly onRequest: boolean;
  /** Parameters of the content type, with their separator. */
  readonly parameters: string;
  /** Reports whether messages of the type can be encoded. */
  fits(type: DescMessage): boolean;
  /** Encodes a message, given as JSON. */
  encode(type: DescMessage, value: JsonValue): Uint8Array;
}

/** Settings of a server that its formats share. */
export interface BodyContext {
  /** The JSON functions of the server's codec, which knows its registry, with the limit on decoded memory. */
  readonly json: JsonValues;
  /** The server's codecs by their media types, aliases included. */
  readonly codecs: ReadonlyMap<string, Codec>;
  readonly limits: BodyLimits;
  /** Limits of a message that a codec decodes. */
  readonly decodeLimits: DecodeLimits;
}
