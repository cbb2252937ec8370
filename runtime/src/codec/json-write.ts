/**
 * Writes large JSON values as text in steps. Between steps the event loop can run other work.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { concat } from "../call/bytes.ts";
import type { Steps } from "../call/steps.ts";
import { encodeUtf8 } from "./codec.ts";
import { STEP_WEIGHT, weighJson } from "./encode-weight.ts";
import { membersInParts, setMember } from "./json-parts.ts";

/** Encodes a JSON value in UTF-8, as `JSON.stringify` writes it. */
export function* encodeJsonInSteps(value: JsonValue): Steps<Uint8Array> {
  const writer = new JsonWriter();
  yield* writer.write(value);
  return writer.finish();
}

/** Characters that are encoded in UTF-8 at a time. */
const CHUNK_CHARACTERS = 64 * 1024;

class JsonWriter {
  readonly #chunks: Uint8Array[] = [];
  #length = 0;
  #text = "";

  *write(value: JsonValue): Steps<void> {
    if (typeof value !== "object" || value === null || weighJson(value, STEP_WEIGHT) < STEP_WEIGHT) {
      this.#add(JSON.stringify(value));
      yield;
    } else if (Array.isArray(value)) yield* this.#items(value);
    else yield* this.#members(value);
  }

  finish(): Uint8Array {
    this.#flush();
    return concat(this.#chunks, this.#length);
  }

  *#items(items: readonly JsonValue[]): Steps<void> {
    let before = "[";
    let part: JsonValue[] = [];
    let weight = 0;
    const flush = (): void => {
      const text = JSON.stringify(part).slice(1, -1);
      if (text !== "") {
        this.#add(before + text);
        before = ",";
      }
      part = [];
      weight = 0;
    };
    for (const item of items) {
      const own = 1 + weighJson(item, STEP_WEIGHT);
      if (own >= STEP_WEIGHT) {
        flush();
        this.#add(before);
        before = ",";
        yield* this.write(item);
        continue;
      }
      part.push(item);
      weight += own;
      if (weight < STEP_WEIGHT) continue;
      flush();
      yield;
    }
    flush();
    this.#add(before === "[" ? "[]" : "]");
  }

  *#members(object: JsonObject): Steps<void> {
    let before = "{";
    let part: JsonObject = {};
    let weight = 0;
    const flush = (): void => {
      const text = JSON.stringify(part).slice(1, -1);
      if (text !== "") {
        this.#add(before + text);
        before = ",";
      }
      part = {};
      weight = 0;
    };
    for (const members of membersInParts(object)) {
      for (const [key, value] of members) {
        const own = 1 + weighJson(key, STEP_WEIGHT) + weighJson(value, STEP_WEIGHT);
        if (own >= STEP_WEIGHT && value !== undefined) {
          flush();
          this.#add(`${before}${JSON.stringify(key)}:`);
          before = ",";
          yield* this.write(value);
          continue;
        }
        setMember(part, key, value);
        weight += own;
        if (weight < STEP_WEIGHT) continue;
        flush();
        yield;
      }
    }
    flush();
    this.#add(before === "{" ? "{}" : "}");
  }

  #add(text: string): void {
    this.#text += text;
    if (this.#text.length >= CHUNK_CHARACTERS) this.#flush();
  }

  #flush(): void {
    // JSON.stringify escapes surrogates that are not part of a pair, and `add` receives whole values, so that no pair is divided.
    const chunk = encodeUtf8(this.#text);
    this.#chunks.push(chunk);
    this.#length += chunk.byteLength;
    this.#text = "";
  }
}
