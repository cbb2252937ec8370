/**
 * Parses and writes large JSON of services without IDL in steps. Browser pages, which only call, do not load this module.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import type { Steps } from "../call/steps.ts";
import { parseJsonInSteps } from "../codec/json-text.ts";
import { encodeJsonInSteps } from "../codec/json-write.ts";
import type { Cost } from "./cost.ts";
import { stepsToJson } from "./json.ts";
import { createPartParser } from "./json-text.ts";
import type { JavaType } from "./signature.ts";

/**
 * Parses JSON text like `parseExactJson`, and counts its values and their memory. Rejects with its errors, and for
 * values nested more than 100 levels deep.
 */
export function parseExactJsonInSteps(bytes: Uint8Array, cost: Cost, partBytes?: number): Promise<JsonValue> {
  const budget = { take: (memory: number) => cost.addMemory(memory) };
  return parseJsonInSteps(bytes, budget, partBytes, createPartParser(cost));
}

/** Encodes a value as JSON text, with the bytes and errors of `toJson` and `encodeJson`. */
export function* encodeInSteps(type: JavaType, value: unknown, cost?: Cost): Steps<Uint8Array> {
  return yield* encodeJsonInSteps(yield* stepsToJson(type, value, cost));
}
