/**
 * Divides the items of a large message into parts that are encoded in one step each.
 */
import type { DescField } from "@bufbuild/protobuf";
import type { Steps } from "../call/steps.ts";
import { encodeInTurn } from "../call/work-queue.ts";
import { setMember } from "./json-parts.ts";

interface PartHandlers<T> {
  /** Returns the weight of an item, up to that of a step. */
  readonly weigh: (item: T) => number;
  /** Encodes items in one step. */
  readonly add: (items: T[]) => void;
  /** Encodes an item that is too large for one step. */
  readonly addLarge: (item: T) => Steps<void>;
  /** The weight of a step. */
  readonly step: number;
}

/** Passes all items in order, in parts of one step each. */
export function* inParts<T>(items: Iterable<T>, { weigh, add, addLarge, step }: PartHandlers<T>): Steps<void> {
  let part: T[] = [];
  let weight = 0;
  for (const item of items) {
    const own = 1 + weigh(item);
    const isLarge = own >= step;
    if (!isLarge) {
      part.push(item);
      weight += own;
    }
    if (part.length > 0 && (isLarge || weight >= step)) {
      add(part);
      part = [];
      weight = 0;
      yield;
    }
    if (isLarge) yield* addLarge(item);
  }
  if (part.length > 0) add(part);
}

/**
 * Runs the work of encoding a message in steps. If it fails, the message is encoded at once: that error names the right
 * position, and types with required fields cannot be divided.
 */
export async function encodeMessageInTurn<T>(work: Steps<T>, atOnce: () => T): Promise<T> {
  try {
    return await encodeInTurn(work);
  } catch {
    return atOnce();
  }
}

/** Returns an init shape with one field. */
export function initOf({ oneof, localName }: DescField, value: unknown): object {
  return oneof === undefined ? { [localName]: value } : { [oneof.localName]: { case: localName, value } };
}

/** Returns an object with some members of another one. */
export function pick(object: object, keys: readonly string[]): Record<string, unknown> {
  const picked = {};
  for (const key of keys) setMember(picked, key, (object as Readonly<Record<string, unknown>>)[key]);
  return picked;
}
