/**
 * The kinds of body that a request may have beside those of the codecs (spec: Additional request content types).
 */
import type { BodyKind } from "../../call/call.ts";
import { decodeForm } from "./form.ts";
import { decodeMultipart } from "./multipart.ts";
import type { BodyInput } from "./parameters.ts";
import { decodeTextBody } from "./text.ts";
import { decodeXml } from "./xml.ts";

/** A kind of body. */
export interface BodyFormat {
  readonly kind: BodyKind;
  /** The first one is its own name; the others are read too. */
  readonly mediaTypes: readonly string[];
  /** What the response has for a content type unless the caller wants another. */
  readonly responseType: "application/json" | "application/xml";
  /** Whether a page of any origin may send it with the user's cookies, without a CORS preflight that asks first. */
  readonly safelisted: boolean;
  /** Throws an `RpcError` with the status for what is wrong, or anything for bytes that are not in the format. */
  decode(input: BodyInput): object | Promise<object>;
}

/** Spec: Additional request content types, in its order. */
export const BODY_FORMATS: readonly BodyFormat[] = [
  {
    kind: "multipart",
    mediaTypes: ["multipart/form-data"],
    responseType: "application/json",
    safelisted: true,
    decode: decodeMultipart,
  },
  {
    kind: "form",
    mediaTypes: ["application/x-www-form-urlencoded"],
    responseType: "application/json",
    safelisted: true,
    decode: decodeForm,
  },
  {
    kind: "text",
    mediaTypes: ["text/plain"],
    responseType: "application/json",
    safelisted: true,
    decode: decodeTextBody,
  },
  {
    kind: "xml",
    mediaTypes: ["application/xml", "text/xml"],
    responseType: "application/xml",
    safelisted: false,
    decode: async ({ type, bytes, mediaType, json }) =>
      json.fromValue(type, await decodeXml(type, bytes, mediaType.parameters.get("charset"))),
  },
];
