/**
 * The arguments of a method in JSON: by position in an array, or by name in an object (as Dubbo for Java reads them).
 */
import type { JsonValue } from "@bufbuild/protobuf";
import type { Signature } from "../signature.ts";
import { fromJson, toJson } from "./json.ts";
import { isRecord, within } from "./type.ts";

/** The array of the arguments. */
export function argumentsToJson({ parameters }: Signature, values: readonly unknown[]): JsonValue[] {
  return parameters.map(({ name, type }, index) => within(`argument "${name}"`, () => toJson(type, values[index])));
}

/**
 * The arguments that a body can be meant to hold, in the order of likelihood; none if it cannot be for the method at all. A
 * method with one parameter takes its argument bare, too.
 */
export function argumentsIn({ parameters }: Signature, body: JsonValue): readonly JsonValue[][] {
  const readings: JsonValue[][] = [];
  if (parameters.length === 0) return [[]];
  if (Array.isArray(body) && body.length === parameters.length) readings.push(body);
  if (isRecord(body) && parameters.some(({ name }) => Object.hasOwn(body, name))) {
    readings.push(parameters.map(({ name }) => (Object.hasOwn(body, name) ? (body[name] as JsonValue) : null)));
  }
  if (parameters.length === 1) readings.push([body]);
  return readings;
}

/** The values of the first reading that fits the types. Throws what is wrong with the first one if none does. */
export function valuesOf({ parameters }: Signature, readings: readonly JsonValue[][]): unknown[] {
  let problem: unknown;
  for (const reading of readings) {
    try {
      return parameters.map(({ name, type }, index) =>
        within(`argument "${name}"`, () => fromJson(type, reading[index] as JsonValue)),
      );
    } catch (reason) {
      problem ??= reason;
    }
  }
  throw problem;
}
