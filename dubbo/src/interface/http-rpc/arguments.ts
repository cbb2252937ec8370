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
  /** The possible readings of the body as arguments of the method, the likeliest first; none if it cannot be for the method. */
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
  const named = new NamedValues(pairs, parseText, cost);
  return {
    ...named.positional(),
    readingsFor({ parameters }) {
      const type = onlyType(parameters);
      if (typeof type !== "object" || !("map" in type) || named.knowsAny(parameters)) return named.bind(parameters);
      return [[mapOf(type.map[1], pairs, cost)]];
    },
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
  const named = childrenOf(root, cost);
  return {
    ...named.arguments(),
    readingsFor({ parameters }) {
      if (named.knowsAny(parameters)) return [named.valuesOf(parameters)];
      const type = onlyType(parameters);
      return type === undefined ? [] : [[decodeElement(type, root, cost)]];
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
      return new NamedValues(content.values, decodePart, cost).positional();
    case "element":
      return xmlArguments(content.element, cost);
  }
}

/** Reports whether the names are exactly those of the parameters. */
function namesAll({ parameters }: Signature, names: readonly string[]): boolean {
  const given = new Set(names);
  return given.size === parameters.length && parameters.every(({ name }) => given.has(name));
}

const onlyType = ([parameter, ...others]: readonly Parameter[]): JavaType | undefined =>
  others.length === 0 ? parameter?.type : undefined;

/** Converts one value to the JSON value of a type. */
type Decode<V> = (type: JavaType, value: V, cost: Cost, name: string) => JsonValue;

const fieldsOf = ({ fields }: JavaClass): Parameter[] => Object.entries(fields).map(([name, type]) => ({ name, type }));

/** The values of a body, or of a part of one, by their names. */
class NamedValues<V> {
  readonly #values: readonly NamedValue<V>[];
  readonly #byName = new Map<string, V[]>();
  readonly #decode: Decode<V>;
  readonly #cost: Cost;

  constructor(values: readonly NamedValue<V>[], decode: Decode<V>, cost: Cost) {
    this.#values = values;
    this.#decode = decode;
    this.#cost = cost;
    for (const { name, value } of values) {
      const known = this.#byName.get(name);
      if (known === undefined) this.#byName.set(name, [value]);
      else known.push(value);
    }
  }

  /** The arguments by the names of the parameters, or the fields of an only object parameter. */
  arguments(): ArgumentBody {
    return {
      readingsFor: ({ parameters }) => this.bind(parameters),
      namesAll: (signature) => namesAll(signature, [...this.#byName.keys()]),
      problemFor: ({ parameters }) =>
        `the body has ${this.#values.length} values of unknown names, and the method takes ${parameters.length}: ${parameters.map(({ name }) => name).join(", ")}`,
    };
  }

  /** The same, or by position. */
  positional(): ArgumentBody {
    return {
      ...this.arguments(),
      byPosition: ({ parameters }) => {
        if (this.#values.length !== parameters.length) return [];
        const renamed = this.#values.map(({ value }, index) => ({
          name: (parameters[index] as Parameter).name,
          value,
        }));
        return [new NamedValues(renamed, this.#decode, this.#cost).valuesOf(parameters)];
      },
    };
  }

  /**
   * Assigns values to parameters by name, or to the fields of an only object parameter. If one name is known, unknown ones are
   * ignored, as in JSON.
   */
  bind(parameters: readonly Parameter[]): JsonValue[][] {
    if (this.knowsAny(parameters)) return [this.valuesOf(parameters)];
    const type = onlyType(parameters);
    if (typeof type !== "object" || !("class" in type)) return [];
    const fields = fieldsOf(type.class());
    return this.knowsAny(fields) ? [[this.objectOf(fields)]] : [];
  }

  knowsAny(known: readonly Parameter[]): boolean {
    return known.some(({ name }) => this.#byName.has(name));
  }

  /** Decodes an object of the members that have values. */
  objectOf(members: readonly Parameter[]): JsonValue {
    const given = members.filter(({ name }) => this.#byName.has(name));
    const object = {};
    for (const [index, value] of this.valuesOf(given).entries()) {
      setEntry(object, (given[index] as Parameter).name, value);
    }
    return object;
  }

  /** Decodes the value of each parameter, null if it is missing. */
  valuesOf(parameters: readonly Parameter[]): JsonValue[] {
    return parameters.map(({ name, type }) => {
      try {
        return this.#valueOf(name, type, this.#byName.get(name) ?? []);
      } catch (cause) {
        if (cause instanceof RpcError) throw cause;
        throw errorIn(`argument "${name}"`, cause);
      }
    });
  }

  /** Decodes the values of a name: null for none; a list of one item for each, or of those of a value that is a JSON array. */
  #valueOf(name: string, type: JavaType, given: readonly V[]): JsonValue {
    const [first] = given;
    if (first === undefined) return null;
    const item = isBoxedBytes(type) && given.length === 1 && isPart(first) ? undefined : itemOf(type);
    if (item !== undefined) {
      const items = given.map((value) => this.#decode(item, value, this.#cost, name));
      return itemOf(item) === undefined ? (items.flat() as JsonValue[]) : items;
    }
    if (given.length > 1) throw badRequest(`parameter "${name}" is given more than once`);
    return this.#decode(type, first, this.#cost, name);
  }
}

const isPart = (value: unknown): boolean => typeof value === "object" && value !== null && "parse" in value;

function childrenOf({ children }: BodyElement, cost: Cost): NamedValues<BodyElement> {
  const named = children.map((value) => ({ name: value.name, value }));
  return new NamedValues(named, decodeElement, cost);
}

/** Empty text is null unless the type is text: an HTML form sends every input, filled in or not. */
function parseText(type: JavaType, text: string, cost: Cost): JsonValue {
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
function decodePart(type: JavaType, part: BodyPart, cost: Cost, name: string): JsonValue {
  const { bytes } = part;
  // The conversion to Java's values also accepts bytes, which JSON lacks.
  if (isBytes(type)) return bytes as unknown as JsonValue;
  if (isBoxedBytes(type)) return [...new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)];
  const content = part.parse();
  switch (content.shape) {
    case "json":
      return parseExactJson(content.bytes, cost);
    case "text":
      return parseText(type, content.text, cost);
    case "element":
      return decodeElement(type, content.element, cost);
    case "pairs":
      if (typeof type === "object" && "map" in type) return mapOf(type.map[1], content.values, cost);
      if (typeof type === "object" && "class" in type)
        return new NamedValues(content.values, parseText, cost).objectOf(fieldsOf(type.class()));
      throw badRequest(`part "${name}" is a form, and the parameter is neither an object nor a map`);
    default:
      throw badRequest(`part "${name}" has parts of its own`);
  }
}

/** Returns an object with a member for each pair. */
function mapOf(member: JavaType, pairs: readonly NamedValue<string>[], cost: Cost): JsonValue {
  return new NamedValues(pairs, parseText, cost).objectOf(pairs.map(({ name }) => ({ name, type: member })));
}

function decodeElement(type: JavaType, element: BodyElement, cost: Cost): JsonValue {
  const item = itemOf(type);
  if (item !== undefined) {
    return element.children.map((child) => decodeElement(item, child, cost));
  }
  if (typeof type === "object" && "class" in type) return childrenOf(element, cost).objectOf(fieldsOf(type.class()));
  if (typeof type === "object" && "map" in type) {
    const object = {};
    for (const [key, value] of entriesOf(element)) setEntry(object, key, decodeElement(type.map[1], value, cost));
    return object;
  }
  const text = textOf(element);
  const scalar = scalarOf(type);
  // XML spells Infinity as INF.
  return parseText(type, scalar === "double" || scalar === "float" ? text.replace("INF", "Infinity") : text, cost);
}
