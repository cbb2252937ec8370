/**
 * Results of interface methods, in every content type of a response (spec: Additional request content types).
 */

import { encodeBase64 } from "../../call/base64.ts";
import { Code, Status } from "../../call/code.ts";
import { RpcError } from "../../call/error.ts";
import { encodeJson } from "../../codec/codec.ts";
import { ELEMENT_NAME, elementOf, encodeRoot, escapeText } from "../../http-rpc/body/xml.ts";
import { Cost } from "../cost.ts";
import { type Notation, toJson, toPlain } from "../json.ts";
import type { JavaType } from "../signature.ts";
import { itemOf, nameOf, within } from "../type.ts";

/** Encodes the result of a method. */
type ResultFormat = (type: JavaType, value: unknown) => Uint8Array;

const jsonResult: ResultFormat = (type, value) =>
  encodeJson(type === "void" ? null : within("the result", () => toJson(type, value)));

/** Encodes a result as text. Null is encoded as empty text. */
const textResult: ResultFormat = (_type, value) => new TextEncoder().encode(String(value ?? ""));

/**
 * Encodes a result as XML in the form that JAXB writes: an element for each field that is not null, and for each item of a
 * list.
 */
const xmlResult: ResultFormat = (type, value) => {
  const plain = type === "void" ? null : within("the result", () => toPlain(type, value, XML_NOTATION, new Cost()));
  if (itemOf(type) !== undefined) return encodeRoot("list", elementsOf("item", type, plain));
  const name = nameOf(type).replace(/^.*[.$]/, "");
  return encodeRoot(ELEMENT_NAME.test(name) ? name : "value", contentOf(type, plain));
};

/** Encoders by the content type of the response. */
export const RESULT_FORMATS: Readonly<Record<"json" | "text" | "xml", ResultFormat>> = {
  json: jsonResult,
  text: textResult,
  xml: xmlResult,
};

const XML_NOTATION: Notation = {
  long: String,
  double: (value) => (Number.isFinite(value) ? value : String(value).replace("Infinity", "INF")),
  bytes: (value) => encodeBase64(value).padEnd(4 * Math.ceil(value.byteLength / 3), "="),
  date: (value) => value.toISOString(),
};

function elementsOf(name: string, type: JavaType, plain: unknown): string {
  if (plain === null) return "";
  if (!ELEMENT_NAME.test(name)) {
    const problem = `the field "${name}" of the response cannot name an element of XML; ask for another type with accept`;
    throw new RpcError(Code.Internal, problem, { status: Status.ServerError });
  }
  const item = itemOf(type);
  if (item === undefined || !Array.isArray(plain)) return elementOf(name, contentOf(type, plain));
  return plain.map((one) => elementOf(name, contentOf(item, one))).join("");
}

function contentOf(type: JavaType, plain: unknown): string {
  if (plain === null) return "";
  if (typeof plain !== "object") return escapeText(String(plain));
  if (typeof type === "object" && "class" in type) {
    const { fields } = type.class();
    const members = plain as Readonly<Record<string, unknown>>;
    return Object.entries(fields)
      .map(([name, field]) => elementsOf(name, field, members[name]))
      .join("");
  }
  if (typeof type === "object" && "map" in type) {
    const [, member] = type.map;
    const entries = Object.entries(plain).map(([key, value]) =>
      elementOf("entry", elementOf("key", escapeText(key)) + elementOf("value", contentOf(member, value))),
    );
    return entries.join("");
  }
  const item = itemOf(type);
  // A value of type `Object` has no declared members, so it is written as JSON.
  return item === undefined ? escapeText(JSON.stringify(plain)) : elementsOf("item", type, plain);
}
