/**
 * Writes large JSON values as text in steps. Between steps the event loop can run other work.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { concat } from "../call/bytes.ts";
import type { Steps } from "../call/steps.ts";
import { encodeUtf8 } from "./codec.ts";
import { inParts } from "./encode-parts.ts";
import { BASE64_BYTES_PER_UNIT, STEP_WEIGHT, Weigher, weighKey } from "./encode-weight.ts";
import { membersInParts } from "./json-parts.ts";

/** Encodes a JSON value in UTF-8, as `JSON.stringify` writes it, in steps of a weight. */
export function* encodeJsonInSteps(value: JsonValue, step: number = STEP_WEIGHT): Steps<Uint8Array> {
  const writer = new JsonWriter(step);
  yield* writer.write(value);
  return writer.finish();
}

/** Characters that are encoded in UTF-8 at a time. */
const CHUNK_CHARACTERS = 64 * 1024;

class JsonWriter {
  readonly #chunks: Uint8Array[] = [];
  #length = 0;
  #text = "";
  readonly #weigher = new Weigher(BASE64_BYTES_PER_UNIT);
  readonly #step: number;

  constructor(step: number) {
    this.#step = step;
  }

  *write(value: JsonValue): Steps<void> {
    if (typeof value !== "object" || value === null || this.#weigher.json(value, this.#step) < this.#step) {
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
    yield* inParts(items, {
      step: this.#step,
      weigh: (item) => this.#weigher.json(item, this.#step),
      add: (part) => {
        this.#add(before + JSON.stringify(part).slice(1, -1));
        before = ",";
      },
      addLarge: (item) => {
        this.#add(before);
        before = ",";
        return this.write(item);
      },
    });
    this.#add(before === "[" ? "[]" : "]");
  }

  *#members(object: JsonObject): Steps<void> {
    let before = "{";
    for (const members of membersInParts(object)) {
      yield* inParts(members, {
        step: this.#step,
        weigh: ([key, value]) => weighKey(key) + this.#weigher.json(value, this.#step),
        add: (part) => {
          const text = JSON.stringify(Object.fromEntries(part)).slice(1, -1);
          // A member that is `undefined` is left out.
          if (text === "") return;
          this.#add(before + text);
          before = ",";
        },
        addLarge: ([key, value]) => {
          this.#add(`${before}${JSON.stringify(key)}:`);
          before = ",";
          return this.write(value);
        },
      });
      yield;
    }
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
