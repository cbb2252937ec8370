/**
 * Arguments of interface methods, in every kind of body (spec: Additional request content types). Where values arrive as
 * text they become what the type of their parameter says.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { RpcError, reasonOf } from "../../call/error.ts";
import type { PayloadBody } from "../../call/method.ts";
import { decodeJsonText } from "../../codec/codec.ts";
import { parsePairs } from "../../http-rpc/body/form.ts";
import { type Part, parseParts, unsupportedPart } from "../../http-rpc/body/multipart.ts";
import { type Named, parseBoolean } from "../../http-rpc/body/parameters.ts";
import { decodeText } from "../../http-rpc/body/text.ts";
import { type Element, entriesOf, parseXml, textOf } from "../../http-rpc/body/xml.ts";
import { badRequest } from "../../http-rpc/headers.ts";
import { argumentsIn } from "../arguments.ts";
import { parseExactJson } from "../json-text.ts";
import type { JavaClass, JavaType, Parameter, Signature } from "../signature.ts";
import { isBytes, isChars, isRecord, itemOf, scalarOf, setMember } from "../type.ts";

/** What a body holds, to be read for one of several methods of a path. */
export interface ArgumentBody {
  /** The arguments that it can be meant to hold, in the order of likelihood; none if it cannot be for the method at all. */
  readingsFor(signature: Signature): readonly JsonValue[][];
  /** Whether it names each parameter of the method, and nothing else. */
  namesAll?(signature: Signature): boolean;
  /** Whether values say themselves if they are text, numbers or something else. */
  readonly typed?: true;
  /** The arguments where no name is known, and no other method could be meant. */
  byPosition?(signature: Signature): readonly JsonValue[][];
  /** What is wrong with it for a method that it cannot be for. */
  problemFor(signature: Signature): string;
}

/** Takes a body apart, by the parameters of its content type. Throws for one that is malformed. */
type ArgumentFormat = (
  bytes: Uint8Array,
  parameters: PayloadBody["parameters"],
) => ArgumentBody | Promise<ArgumentBody>;

/** JSON says of every value what it is, and may leave out the names. */
function jsonArguments(bytes: Uint8Array): ArgumentBody {
  if (bytes.byteLength === 0) throw badRequest("the body is empty; it must be a JSON array of the arguments");
  const body = parseJson(bytes);
  const contents = Array.isArray(body) ? `${body.length} arguments` : "no array";
  return {
    typed: true,
    readingsFor: (signature) => argumentsIn(signature, body),
    namesAll: (signature) => isRecord(body) && namesAll(signature, Object.keys(body)),
    problemFor: ({ parameters }) => `the body has ${contents}; it must be a JSON array with ${parameters.length}`,
  };
}

/** A method that takes one map gets all pairs of a form, whatever their names. */
const formArguments: ArgumentFormat = (bytes, parameters) => {
  const pairs = parsePairs(bytes, { parameters });
  return {
    problemFor: problemOf(pairs),
    namesAll: namesIn(pairs),
    byPosition: ({ parameters }) => inOrder(parameters, pairs, parseText),
    readingsFor({ parameters }) {
      const type = onlyType(parameters);
      if (typeof type !== "object" || !("map" in type) || knowsAny(parameters, pairs))
        return bind(parameters, pairs, parseText);
      const fields = pairs.map(({ name }) => ({ name, type: type.map[1] }));
      return [[objectOf(fields, pairs, parseText)]];
    },
  };
};

const multipartArguments: ArgumentFormat = async (bytes, parameters) => {
  const parts = await parseParts(bytes, parameters.get("boundary"));
  return {
    problemFor: problemOf(parts),
    namesAll: namesIn(parts),
    byPosition: ({ parameters }) => inOrder(parameters, parts, decodePart),
    readingsFor: ({ parameters }) => bind(parameters, parts, decodePart),
  };
};

const textArguments: ArgumentFormat = (bytes, parameters) => {
  const text = decodeText(bytes, parameters.get("charset"));
  return {
    readingsFor: ({ parameters }) => (onlyType(parameters) === "java.lang.String" ? [[text]] : []),
    problemFor: () => "text/plain is for methods with one parameter, a string",
  };
};

/** An element for every parameter, or the one argument as the root, whatever its name. */
const xmlArguments: ArgumentFormat = async (bytes, parameters) => {
  const root = await parseXml(bytes, parameters.get("charset"));
  const elements = root.children.map((value) => ({ name: value.name, value }));
  return {
    problemFor: problemOf(elements),
    namesAll: namesIn(elements),
    readingsFor({ parameters }) {
      if (knowsAny(parameters, elements)) return [valuesIn(parameters, elements, decodeElement)];
      const type = onlyType(parameters);
      return type === undefined ? [] : [[decodeElement(type, root)]];
    },
  };
};

/** By the format of the body. */
export const ARGUMENT_FORMATS: Readonly<Record<PayloadBody["format"], ArgumentFormat>> = {
  json: jsonArguments,
  multipart: multipartArguments,
  form: formArguments,
  text: textArguments,
  xml: xmlArguments,
};

const parseJson = (bytes: Uint8Array): JsonValue => parseExactJson(decodeJsonText(bytes));

const problemOf =
  (values: readonly unknown[]) =>
  ({ parameters }: Signature): string => {
    const names = parameters.map(({ name }) => name).join(", ");
    return `the body has ${values.length} values of unknown names, and the method takes ${parameters.length}: ${names}`;
  };

const namesIn =
  (values: readonly Named<unknown>[]) =>
  (signature: Signature): boolean =>
    namesAll(
      signature,
      values.map(({ name }) => name),
    );

/** Whether there is one of these names for each parameter, and none beside. */
function namesAll({ parameters }: Signature, names: readonly string[]): boolean {
  const given = new Set(names);
  return given.size === parameters.length && parameters.every(({ name }) => given.has(name));
}

const onlyType = ([parameter, ...others]: readonly Parameter[]): JavaType | undefined =>
  others.length === 0 ? parameter?.type : undefined;

/** The JSON value of one value for a type. */
type Decode<V> = (type: JavaType, value: V, name: string) => JsonValue;

/**
 * Finds the parameter of each value by name, or by the names of the fields of an only object. As soon as one name is known,
 * unknown ones are ignored, as they are in JSON.
 */
function bind<V>(parameters: readonly Parameter[], values: readonly Named<V>[], decode: Decode<V>): JsonValue[][] {
  if (knowsAny(parameters, values)) return [valuesIn(parameters, values, decode)];
  const type = onlyType(parameters);
  if (typeof type === "object" && "class" in type) {
    const fields = fieldsOf(type.class());
    if (knowsAny(fields, values)) return [[objectOf(fields, values, decode)]];
  }
  return [];
}

function inOrder<V>(parameters: readonly Parameter[], values: readonly Named<V>[], decode: Decode<V>): JsonValue[][] {
  if (values.length !== parameters.length) return [];
  const renamed = parameters.map(({ name }, index) => ({ name, value: (values[index] as Named<V>).value }));
  return [valuesIn(parameters, renamed, decode)];
}

const fieldsOf = ({ fields }: JavaClass): Parameter[] => Object.entries(fields).map(([name, type]) => ({ name, type }));

const knowsAny = (known: readonly Parameter[], values: readonly Named<unknown>[]): boolean =>
  values.some((value) => known.some(({ name }) => name === value.name));

/** The members that are there. */
function objectOf<V>(members: readonly Parameter[], values: readonly Named<V>[], decode: Decode<V>): JsonValue {
  const given = members.filter(({ name }) => values.some((value) => value.name === name));
  const object = {};
  for (const [index, value] of valuesIn(given, values, decode).entries()) {
    setMember(object, (given[index] as Parameter).name, value);
  }
  return object;
}

/** The value of each parameter. What is missing is null. */
function valuesIn<V>(parameters: readonly Parameter[], values: readonly Named<V>[], decode: Decode<V>): JsonValue[] {
  return parameters.map(({ name, type }) => {
    const given = values.filter((value) => value.name === name).map(({ value }) => value);
    const item = itemOf(type);
    try {
      if (item !== undefined && given.length > 0) return itemsIn(given, item, name, decode);
      if (given.length > 1) throw badRequest(`parameter "${name}" is given more than once`);
      return given.length === 0 ? null : decode(type, given[0] as V, name);
    } catch (cause) {
      if (cause instanceof RpcError) throw cause;
      throw new TypeError(`argument "${name}": ${reasonOf(cause)}`, { cause });
    }
  });
}

/** Each value is an item, unless it has them all: what is no list itself may come as an array in JSON. */
function itemsIn<V>(values: readonly V[], item: JavaType, name: string, decode: Decode<V>): JsonValue[] {
  const items = values.map((value) => decode(item, value, name));
  return itemOf(item) === undefined ? items.flat() : items;
}

/** An empty text is null where it is no text: an HTML form sends every input, filled in or not. */
function parseText(type: JavaType, text: string): JsonValue {
  if (type === "java.lang.String" || type === "java.lang.Object" || scalarOf(type) === "char" || isChars(type))
    return text;
  const value = text.trim();
  if (value === "") return null;
  if (scalarOf(type) === "boolean") return parseBoolean(value);
  if (type === "java.util.Date" && /^-?[0-9]+$/.test(value)) return Number(value);
  const isStructured = typeof type === "object" && !("enum" in type) && !isBytes(type);
  return isStructured ? parseJson(new TextEncoder().encode(value)) : value;
}

/** A part by its own content type; bytes as they are. */
function decodePart(type: JavaType, { mediaType, bytes }: Part, name: string): JsonValue {
  // The readers of Java's values take bytes, for which JSON has no word.
  if (isBytes(type)) return bytes as unknown as JsonValue;
  if (mediaType.name === "application/json") return parseJson(bytes);
  if (mediaType.name === "text/plain") return parseText(type, decodeText(bytes, mediaType.parameters.get("charset")));
  throw unsupportedPart(name, mediaType.name, ["text/plain", "application/json"]);
}

function decodeElement(type: JavaType, element: Element): JsonValue {
  const named = element.children.map((value) => ({ name: value.name, value }));
  const item = itemOf(type);
  if (item !== undefined) return element.children.map((child) => decodeElement(item, child));
  if (typeof type === "object" && "class" in type) return objectOf(fieldsOf(type.class()), named, decodeElement);
  if (typeof type === "object" && "map" in type) {
    const object = {};
    for (const [key, value] of entriesOf(element)) setMember(object, key, decodeElement(type.map[1], value));
    return object;
  }
  const text = textOf(element);
  const scalar = scalarOf(type);
  // Infinity has another name there.
  return parseText(type, scalar === "double" || scalar === "float" ? text.replace("INF", "Infinity") : text);
}
