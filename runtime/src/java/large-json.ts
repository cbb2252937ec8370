/**
 * Parses large JSON of services without IDL in steps. Browser pages, which only call, do not load this module.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { parseJsonInSteps } from "../codec/json-text.ts";
import { DecodeBudget } from "../codec/memory.ts";
import { createPartParser } from "./json-text.ts";

/** Parses JSON text like `parseExactJson`. Rejects with its errors, and for values nested more than 100 levels deep. */
export function parseExactJsonInSteps(bytes: Uint8Array, partBytes?: number): Promise<JsonValue> {
  // The parser counts values instead of their memory.
  return parseJsonInSteps(bytes, new DecodeBudget(Number.POSITIVE_INFINITY), partBytes, createPartParser());
}
