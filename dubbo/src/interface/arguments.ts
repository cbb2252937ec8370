/** The arguments of a method in JSON: by position in an array, or by name in an object (as Dubbo for Java reads them). */
import type { JsonValue } from "@bufbuild/protobuf";
import type { Cost } from "./cost.ts";
import { toJson } from "./json.ts";
import { fromJson } from "./read-json.ts";
import type { JavaType, Signature } from "./signature.ts";
import { ExactNumber, eachArgument, isBytes, isRecord, scalarOf } from "./type.ts";

/** The array of the arguments. */
export function argumentsToJson(signature: Signature, values: readonly unknown[], cost: Cost): JsonValue[] {
  return eachArgument(signature, (type, index) => toJson(type, values[index], cost));
}

/**
 * The possible readings of a body as arguments of the method, the most likely first; none if the body cannot be for the
 * method. A method with one parameter also accepts a bare argument.
 */
export function argumentsIn({ parameters }: Signature, body: JsonValue): readonly JsonValue[][] {
  const readings: JsonValue[][] = [];
  if (parameters.length === 0) return [[]];
  if (Array.isArray(body) && body.length === parameters.length) readings.push(body);
  if (isRecord(body) && parameters.some(({ name }) => Object.hasOwn(body, name))) {
    readings.push(parameters.map(({ name }) => (Object.hasOwn(body, name) ? (body[name] as JsonValue) : null)));
  }
  const [only, ...others] = parameters;
  if (only !== undefined && others.length === 0 && (!Array.isArray(body) || takesArray(only.type)))
    readings.push([body]);
  return readings;
}

/** Arguments that are valid for the types of the parameters. */
export interface Fit {
  readonly values: unknown[];
  /** True if each is in its usual JSON form; a number in a string is not. */
  readonly plain: boolean;
}

/**
 * Converts the first reading that is valid for the types. If none is valid, throws the error of the first reading. The cost
 * is that of the message: failed attempts count too.
 */
export function valuesOf(signature: Signature, readings: readonly JsonValue[][], cost: Cost): Fit {
  let problem: unknown;
  for (const reading of readings) {
    try {
      const values = eachArgument(signature, (type, index) => fromJson(type, reading[index] as JsonValue, cost));
      const plain = signature.parameters.every(({ type }, index) => isPlain(type, reading[index] as JsonValue));
      return { values, plain };
    } catch (reason) {
      problem ??= reason;
    }
  }
  throw problem;
}

function takesArray(type: JavaType): boolean {
  if (typeof type === "string") return type === "java.lang.Object" || isBytes(type);
  return "list" in type || "set" in type || "array" in type;
}

/** Reports whether a JSON value has the usual form of the type. An `Object` has none. */
function isPlain(type: JavaType, json: JsonValue): boolean {
  if (json === null) return true;
  if (typeof type === "object" && ("class" in type || "map" in type)) return isRecord(json);
  if (takesArray(type)) return type !== "java.lang.Object" && Array.isArray(json);
  const scalar = scalarOf(type);
  if (scalar === "boolean") return typeof json === "boolean";
  if (scalar === "char" || type === "java.lang.String" || typeof type === "object") return typeof json === "string";
  return typeof json === "number" || (json as unknown) instanceof ExactNumber;
}
