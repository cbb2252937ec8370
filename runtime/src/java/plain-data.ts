/**
 * Values without a declared type in JSON and MessagePack.
 */
import type { Cost } from "./cost.ts";
import { ExactNumber } from "./json-text.ts";
import { setMember, show, toDate, toScalar } from "./type.ts";

/**
 * Returns a copy of the value if it is plain data. Numbers of JSON text that a JavaScript number cannot hold exactly become
 * strings. Throws a `TypeError` for values that no Java type holds, and an error if a limit of `cost` is exceeded.
 */
export function toPlainData(value: unknown, cost: Cost): unknown {
  cost.addMade(1);
  if (value instanceof ExactNumber) return String(value);
  if (typeof value === "bigint") return toScalar("long", value);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (value instanceof Date) return toDate(value);
  cost.addContainer();
  if (Array.isArray(value)) return value.map((item) => toPlainData(item, cost));
  if (Object.getPrototypeOf(value) !== Object.prototype) throw new TypeError(`${show(value)} is not plain data`);
  const object = {};
  for (const [name, member] of Object.entries(value)) setMember(object, name, toPlainData(member, cost));
  return object;
}
