/**
 * Values of which nothing is declared, as JSON and MessagePack have them.
 */
import type { Cost } from "./cost.ts";
import { ExactNumber } from "./json-text.ts";
import { setMember, show, toDate, toScalar } from "./type.ts";

/**
 * The value, if it is nothing but data. Numbers of JSON text with more digits than a number has are strings here. Throws a `TypeError` for what no type of Java holds, and for what costs too much.
 */
export function toPlainData(value: unknown, cost: Cost): unknown {
  cost.addMade(1);
  if (value instanceof ExactNumber) return String(value);
  if (typeof value === "bigint") return toScalar("long", value);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (value instanceof Date) return toDate(value);
  cost.addContainer();
  if (Array.isArray(value)) return value.map((item) => toPlainData(item, cost));
  if (Object.getPrototypeOf(value) !== Object.prototype) throw new TypeError(`${show(value)} is no data`);
  const object = {};
  for (const [name, member] of Object.entries(value)) setMember(object, name, toPlainData(member, cost));
  return object;
}
