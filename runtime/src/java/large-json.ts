/**
 * Parses large JSON of services without IDL in steps. Browser pages, which only call, do not load this module.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { parseJsonInSteps } from "../codec/json-text.ts";
import type { Cost } from "./cost.ts";
import { createPartParser } from "./json-text.ts";

/**
 * Parses JSON text like `parseExactJson`, and counts its values and their memory. Rejects with its errors, and for
 * values nested more than 100 levels deep.
 */
export function parseExactJsonInSteps(bytes: Uint8Array, cost: Cost, partBytes?: number): Promise<JsonValue> {
  const budget = { take: (memory: number) => cost.addMemory(memory) };
  return parseJsonInSteps(bytes, budget, partBytes, createPartParser(cost));
}
