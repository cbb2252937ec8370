/** Integers of 64 bits, which are a `number` in google-protobuf and a `bigint` in protobuf-es. */
import { existsSync, readFileSync } from "node:fs";
import { ts } from "ts-morph";
import { type Generated, isWellKnown } from "./generated.ts";

/** The code of the modules that were generated, by their paths: types do not tell such integers from others. */
const modules = new Map<string, string>();

function codeOf({ path }: Generated): string {
  const file = `${path}_pb.js`;
  const code = modules.get(file) ?? (existsSync(file) ? readFileSync(file, "utf8") : "");
  modules.set(file, code);
  return code;
}

/** The reading of such an integer. */
const READ = /\.read(?:Packed|Packable)?(?:Int|Uint|Sint|Fixed|Sfixed)64(?:Into)?\(/;
/** The accessor that the class reads a field with. */
const ACCESSOR = /msg\.(?:set|add|get)(\w+)\(/;

/** Reports whether a field, such as `OrderId`, has integers of 64 bits. */
export function isInt64(of: Generated, field: string): boolean {
  if (isWellKnown(of)) return field === "Seconds";
  const parts = codeOf(of).split(".deserializeBinaryFromReader = function");
  const at = parts.findIndex((part) => part.slice(part.lastIndexOf("\n")).replaceAll(".", "_").endsWith(`_${of.name}`));
  if (at < 0) return false;
  const [reader = ""] = (parts[at + 1] ?? "").split("\n};");
  const readings = reader.split("break;").filter((one) => READ.test(one));
  return readings.some((one) => [field, `${field}List`].includes(ACCESSOR.exec(one)?.[1] ?? ""));
}

/** A number as a `bigint`. google-protobuf drops the fraction of one that it writes. */
export function bigintOf(node: ts.Expression, text: string): string {
  return ts.isNumericLiteral(node) ? `BigInt(${text})` : `BigInt(Math.trunc(${text}))`;
}
