/**
 * Arguments of interface methods, in every kind of body (spec: Additional request content types). Where values arrive as
 * text they are converted to the type of their parameter.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { RpcError } from "triple-es";
import type { BodyContent, BodyElement, BodyPart, NamedValue } from "triple-es/internal";
import { badRequest, entriesOf, parseBoolean, setEntry, textOf } from "triple-es/internal";
import { argumentsIn } from "../arguments.ts";
import type { Cost } from "../cost.ts";
import { parseExactJson } from "../json-text.ts";
import type { JavaClass, JavaType, Parameter, Signature } from "../signature.ts";
import { errorIn, isBoxedBytes, isBytes, isChars, isRecord, itemOf, scalarOf } from "../type.ts";

/** A parsed body, which can be read for each of several methods of a path. */
export interface ArgumentBody {
  /**
   * The possible readings of the body as arguments of the method, the likeliest first; none if it cannot be for the
   * method.
   */
  readingsFor(signature: Signature): readonly JsonValue[][];
  /** Reports whether it names each parameter of the method, and nothing else. */
  namesAll?(signature: Signature): boolean;
  /** True if the format distinguishes text, numbers and other types. */
  readonly typed?: true;
  /** The arguments by position, where no name is known and the path has no other method. */
  byPosition?(signature: Signature): readonly JsonValue[][];
  /** The reason why the body cannot be for a method. */
  problemFor(signature: Signature): string;
}

/** Arguments in JSON, by position or by name. */
function jsonArguments(body: JsonValue): ArgumentBody {
  const contents = Array.isArray(body) ? `${body.length} arguments` : "no array";
  return {
    typed: true,
    readingsFor: (signature) => argumentsIn(signature, body),
    namesAll: (signature) => isRecord(body) && namesAll(signature, Object.keys(body as JsonObject)),
    problemFor: ({ parameters }) => `the body has ${contents}; it must be a JSON array with ${parameters.length}`,
  };
}

/** Arguments in a form. A method whose only parameter is a map gets all pairs. */
function formArguments(pairs: readonly NamedValue<string>[], cost: Cost): ArgumentBody {
  return {
    problemFor: problemOf(pairs),
    namesAll: namesIn(pairs),
    byPosition: ({ parameters }) => inOrder(parameters, pairs, parseText, cost),
    readingsFor({ parameters }) {
      const type = onlyType(parameters);
      if (typeof type !== "object" || !("map" in type) || knowsAny(parameters, pairs))
        return bind(parameters, pairs, parseText, cost);
      return [[mapOf(type.map[1], pairs, cost)]];
    },
  };
}

function multipartArguments(parts: readonly NamedValue<BodyPart>[], cost: Cost): ArgumentBody {
  return {
    problemFor: problemOf(parts),
    namesAll: namesIn(parts),
    byPosition: ({ parameters }) => inOrder(parameters, parts, decodePart, cost),
    readingsFor: ({ parameters }) => bind(parameters, parts, decodePart, cost),
  };
}

function textArguments(text: string): ArgumentBody {
  return {
    readingsFor: ({ parameters }) => (onlyType(parameters) === "java.lang.String" ? [[text]] : []),
    problemFor: () => "text/plain is for methods with one parameter, a string",
  };
}

/** Arguments in XML: an element for each parameter, or the only argument as the root, under any name. */
function xmlArguments(root: BodyElement, cost: Cost): ArgumentBody {
  const elements = root.children.map((value) => ({ name: value.name, value }));
  return {
    problemFor: problemOf(elements),
    namesAll: namesIn(elements),
    readingsFor({ parameters }) {
      if (knowsAny(parameters, elements)) return [valuesIn(parameters, elements, decodeElement, cost)];
      const type = onlyType(parameters);
      return type === undefined ? [] : [[decodeElement(type, root, root.name, cost)]];
    },
  };
}

/** Reads a parsed body, by its shape and not by its format. `cost` counts the values of JSON text in it. */
export function argumentsOf(content: BodyContent, cost: Cost): ArgumentBody {
  switch (content.shape) {
    case "json":
      if (content.bytes.byteLength > 0) return jsonArguments(parseExactJson(content.bytes, cost));
      throw badRequest("the body is empty; it must be a JSON array of the arguments");
    case "text":
      return textArguments(content.text);
    case "pairs":
      return formArguments(content.values, cost);
    case "parts":
      return multipartArguments(content.values, cost);
    case "element":
      return xmlArguments(content.element, cost);
  }
}

const problemOf =
  (values: readonly unknown[]) =>
  ({ parameters }: Signature): string => {
    const names = parameters.map(({ name }) => name).join(", ");
    return `the body has ${values.length} values of unknown names, and the method takes ${parameters.length}: ${names}`;
  };

const namesIn =
  (values: readonly NamedValue<unknown>[]) =>
  (signature: Signature): boolean =>
    namesAll(
      signature,
      values.map(({ name }) => name),
    );

/** Reports whether the names are exactly those of the parameters. */
function namesAll({ parameters }: Signature, names: readonly string[]): boolean {
  const given = new Set(names);
  return given.size === parameters.length && parameters.every(({ name }) => given.has(name));
}

const onlyType = ([parameter, ...others]: readonly Parameter[]): JavaType | undefined =>
  others.length === 0 ? parameter?.type : undefined;

/** Converts one value to the JSON value of a type. */
type Decode<V> = (type: JavaType, value: V, name: string, cost: Cost) => JsonValue;

/**
 * Assigns values to parameters by name, or to the fields of an only object parameter. If one name is known, unknown ones are
 * ignored, as in JSON.
 */
function bind<V>(
  parameters: readonly Parameter[],
  values: readonly NamedValue<V>[],
  decode: Decode<V>,
  cost: Cost,
): JsonValue[][] {
  if (knowsAny(parameters, values)) return [valuesIn(parameters, values, decode, cost)];
  const type = onlyType(parameters);
  if (typeof type === "object" && "class" in type) {
    const fields = fieldsOf(type.class());
    if (knowsAny(fields, values)) return [[objectOf(fields, values, decode, cost)]];
  }
  return [];
}

function inOrder<V>(
  parameters: readonly Parameter[],
  values: readonly NamedValue<V>[],
  decode: Decode<V>,
  cost: Cost,
): JsonValue[][] {
  if (values.length !== parameters.length) return [];
  const renamed = parameters.map(({ name }, index) => ({ name, value: (values[index] as NamedValue<V>).value }));
  return [valuesIn(parameters, renamed, decode, cost)];
}

const fieldsOf = ({ fields }: JavaClass): Parameter[] => Object.entries(fields).map(([name, type]) => ({ name, type }));

function knowsAny(known: readonly Parameter[], values: readonly NamedValue<unknown>[]): boolean {
  const names = new Set(known.map(({ name }) => name));
  return values.some(({ name }) => names.has(name));
}

/** Decodes an object of the members that have values. */
function objectOf<V>(
  members: readonly Parameter[],
  values: readonly NamedValue<V>[],
  decode: Decode<V>,
  cost: Cost,
): JsonValue {
  const names = new Set(values.map(({ name }) => name));
  const given = members.filter(({ name }) => names.has(name));
  const object = {};
  for (const [index, value] of valuesIn(given, values, decode, cost).entries()) {
    setEntry(object, (given[index] as Parameter).name, value);
  }
  return object;
}

/** Decodes the value of each parameter, null if it is missing. */
function valuesIn<V>(
  parameters: readonly Parameter[],
  values: readonly NamedValue<V>[],
  decode: Decode<V>,
  cost: Cost,
): JsonValue[] {
  const byName = new Map<string, V[]>();
  for (const { name, value } of values) {
    const known = byName.get(name);
    if (known === undefined) byName.set(name, [value]);
    else known.push(value);
  }
  const decoded: JsonValue[] = [];
  for (const { name, type } of parameters) {
    const given = byName.get(name) ?? [];
    const item = isBoxedBytes(type) && given.length === 1 && isPart(given[0]) ? undefined : itemOf(type);
    try {
      if (item !== undefined && given.length > 0) decoded.push(itemsIn(given, item, name, decode, cost));
      else if (given.length > 1) throw badRequest(`parameter "${name}" is given more than once`);
      else decoded.push(given.length === 0 ? null : decode(type, given[0] as V, name, cost));
    } catch (cause) {
      if (cause instanceof RpcError) throw cause;
      throw errorIn(`argument "${name}"`, cause);
    }
  }
  return decoded;
}

const isPart = (value: unknown): boolean => typeof value === "object" && value !== null && "parse" in value;

/** Decodes the items of a list: one for each value, or those of a value that is a JSON array. */
function itemsIn<V>(values: readonly V[], item: JavaType, name: string, decode: Decode<V>, cost: Cost): JsonValue[] {
  const items: JsonValue[] = [];
  for (const value of values) {
    items.push(decode(item, value, name, cost));
  }
  return itemOf(item) === undefined ? items.flat() : items;
}

/** Empty text is null unless the type is text: an HTML form sends every input, filled in or not. */
function parseText(type: JavaType, text: string, _name: string, cost: Cost): JsonValue {
  if (type === "java.lang.String" || type === "java.lang.Object" || scalarOf(type) === "char" || isChars(type))
    return text;
  const value = text.trim();
  if (value === "") return null;
  if (scalarOf(type) === "boolean") return parseBoolean(value);
  if (type === "java.util.Date" && /^-?[0-9]+$/.test(value)) return Number(value);
  const isStructured = typeof type === "object" && !("enum" in type) && !isBytes(type);
  return isStructured ? parseExactJson(new TextEncoder().encode(value), cost) : value;
}

/** A part of a multipart body, by its own content type; bytes, boxed or not, as they are. */
function decodePart(type: JavaType, part: BodyPart, name: string, cost: Cost): JsonValue {
  const { bytes } = part;
  // The conversion to Java's values also accepts bytes, which JSON lacks.
  if (isBytes(type)) return bytes as unknown as JsonValue;
  if (isBoxedBytes(type)) return [...new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)];
  const content = part.parse();
  switch (content.shape) {
    case "json":
      return parseExactJson(content.bytes, cost);
    case "text":
      return parseText(type, content.text, name, cost);
    case "element":
      return decodeElement(type, content.element, name, cost);
    case "pairs":
      if (typeof type === "object" && "map" in type) return mapOf(type.map[1], content.values, cost);
      if (typeof type === "object" && "class" in type)
        return objectOf(fieldsOf(type.class()), content.values, parseText, cost);
      throw badRequest(`part "${name}" is a form, and the parameter is neither an object nor a map`);
    default:
      throw badRequest(`part "${name}" has parts of its own`);
  }
}

/** Returns an object with a member for each pair. */
function mapOf(member: JavaType, pairs: readonly NamedValue<string>[], cost: Cost): JsonValue {
  return objectOf(
    pairs.map(({ name }) => ({ name, type: member })),
    pairs,
    parseText,
    cost,
  );
}

function decodeElement(type: JavaType, element: BodyElement, name: string, cost: Cost): JsonValue {
  const item = itemOf(type);
  if (item !== undefined) {
    const items: JsonValue[] = [];
    for (const child of element.children) items.push(decodeElement(item, child, name, cost));
    return items;
  }
  if (typeof type === "object" && "class" in type) {
    const named = element.children.map((value) => ({ name: value.name, value }));
    return objectOf(fieldsOf(type.class()), named, decodeElement, cost);
  }
  if (typeof type === "object" && "map" in type) {
    const object = {};
    for (const [key, value] of entriesOf(element)) setEntry(object, key, decodeElement(type.map[1], value, name, cost));
    return object;
  }
  const text = textOf(element);
  const scalar = scalarOf(type);
  // XML spells Infinity as INF.
  return parseText(
    type,
    scalar === "double" || scalar === "float" ? text.replace("INF", "Infinity") : text,
    name,
    cost,
  );
}
