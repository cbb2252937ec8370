/**
 * Writes MessagePack in steps, with the bytes that the library `@msgpack/msgpack` writes. The library writes a message in
 * one step; here it writes small values, and parts of large lists and maps.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { concat } from "../../call/bytes.ts";
import type { Steps } from "../../call/steps.ts";
import { inParts } from "../../codec/encode-parts.ts";
import { COPIED_BYTES_PER_UNIT, STEP_WEIGHT, Weigher, weighKey } from "../../codec/encode-weight.ts";
import { countMembers, membersInParts } from "../../codec/json-parts.ts";

/** Encodes a value. `encode` encodes values at once, each to bytes of its own. */
export function* writeMsgpack(value: JsonValue, encode: (value: JsonValue) => Uint8Array): Steps<Uint8Array> {
  const writer = new Writer(encode);
  yield* writer.write(value);
  return writer.finish();
}

/** The lowest first bytes of the three formats of a list or a map: for fewer than 16 items, 65,536 items, and more. */
const LIST = [0x90, 0xdc, 0xdd] as const;
const MAP = [0x80, 0xde, 0xdf] as const;

class Writer {
  readonly #encode: (value: JsonValue) => Uint8Array;
  readonly #chunks: Uint8Array[] = [];
  readonly #weigher = new Weigher(COPIED_BYTES_PER_UNIT);
  #length = 0;

  constructor(encode: (value: JsonValue) => Uint8Array) {
    this.#encode = encode;
  }

  finish(): Uint8Array {
    return concat(this.#chunks, this.#length);
  }

  *write(value: JsonValue): Steps<void> {
    if (isLeaf(value) || this.#weigh(value) < STEP_WEIGHT) {
      this.#add(this.#encode(value));
      yield undefined;
    } else if (Array.isArray(value)) yield* this.#items(value);
    else yield* this.#members(value);
  }

  *#items(items: readonly JsonValue[]): Steps<void> {
    this.#add(header(LIST, items.length));
    yield* inParts(items, {
      step: STEP_WEIGHT,
      weigh: (item) => this.#weigh(item),
      add: (part) => this.#add(this.#encode(part).subarray(headerBytes(part.length))),
      addLarge: (item) => this.write(item),
    });
  }

  *#members(object: JsonObject): Steps<void> {
    this.#add(header(MAP, countMembers(object)));
    for (const members of membersInParts(object)) {
      yield* inParts(members, {
        step: STEP_WEIGHT,
        weigh: ([key, value]) => weighKey(key) + this.#weigh(value),
        add: (part) => this.#add(this.#encode(Object.fromEntries(part)).subarray(headerBytes(part.length))),
        addLarge: ([key, value]) => this.#member(key, value),
      });
      yield undefined;
    }
  }

  *#member(key: string, value: JsonValue): Steps<void> {
    this.#add(this.#encode(key));
    yield* this.write(value);
  }

  #weigh(value: JsonValue): number {
    return this.#weigher.json(value, STEP_WEIGHT);
  }

  #add(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#length += chunk.byteLength;
  }
}

/** Reports whether a value contains no others. Bytes and dates are values of MessagePack. */
function isLeaf(value: JsonValue | Uint8Array | Date): value is Exclude<JsonValue, object> {
  return typeof value !== "object" || value === null || value instanceof Uint8Array || value instanceof Date;
}

function header([tiny, small, large]: readonly [number, number, number], length: number): Uint8Array {
  if (length < 0x10) return Uint8Array.of(tiny | length);
  if (length < 0x10000) return Uint8Array.of(small, length >> 8, length & 0xff);
  const bytes = Uint8Array.of(large, 0, 0, 0, 0);
  new DataView(bytes.buffer).setUint32(1, length);
  return bytes;
}

/** The length of the header of a list or map that is a part of a large one. */
const headerBytes = (length: number): number => (length < 0x10 ? 1 : 3);
