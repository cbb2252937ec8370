/**
 * Body formats: the interface between sub-protocol A and the kinds of body that no codec decodes (spec: Additional
 * request content types). Each format has a separate file and a row in `formats.ts`.
 */
import type { DescMessage, JsonValue } from "@bufbuild/protobuf";
import type { BodyJson } from "../../codec/bounded-codec.ts";
import type { Codec } from "../../codec/codec.ts";
import type { ValueCount } from "../../codec/values/values.ts";
import type { BodyContent, NamedResult, Notation } from "../../protocol/payload.ts";
import type { BodyLimits } from "../../server/options.ts";
import type { MediaType } from "../media-type.ts";

export interface BodyFormat {
  /** The name of the format in the option `bodies`. */
  readonly kind: string;
  /** Media types of the format. The first is its main name, the others are aliases. */
  readonly mediaTypes: readonly string[];
  /** True if browsers send the format to any site, with cookies and without a CORS preflight. */
  readonly safelisted: boolean;
  /** Loads the parser. Default: the parser is part of the bundle. */
  readonly load?: () => Promise<unknown>;
  /** Parses a body without knowledge of its types. Throws an `RpcError`, or any error for malformed bytes. */
  parse(bytes: Uint8Array, mediaType: MediaType, context: BodyContext): BodyContent;
  /** Decodes the result of `parse`. Throws an `RpcError`, or any error for a body that does not match the type. */
  decode(type: DescMessage, content: BodyContent, context: BodyContext): object;
  /** The encoder of responses. Default: none, the format is for requests only. */
  readonly response?: BodyResponse;
}

/** The encoder of responses in a format. */
export interface BodyResponse {
  /**
   * True: only `accept` selects the format for a response. False: a request in the format is also answered in it. All
   * other responses are JSON.
   */
  readonly onRequest: boolean;
  /** Parameters of the content type, including the separator. */
  readonly parameters: string;
  /** Reports whether messages of the type can be encoded. */
  fits(type: DescMessage): boolean;
  /** Encodes the JSON value of a message. */
  encode(type: DescMessage, value: JsonValue): Uint8Array;
  /** The encoder for methods whose messages have no schema. */
  readonly results: ResultEncoder;
}

/** The encoder of results without a schema. */
export interface ResultEncoder {
  /** True if the format can carry only results that are text. Default: false. */
  readonly textOnly?: boolean;
  readonly notation: Notation;
  /** Encodes a result. */
  encode(result: NamedResult): Uint8Array;
}

/** Settings of a server that all formats use, for one body. */
export interface BodyContext {
  /** The JSON functions of the server's codec for the body, with its registry and the limit on values. */
  readonly json: BodyJson;
  /** The server's codecs by media type, including aliases. */
  readonly codecs: ReadonlyMap<string, Codec>;
  readonly limits: BodyLimits;
  /** Counts the values of the body. `undefined`: it is too small to exceed the limit. */
  readonly count: ValueCount | undefined;
}
