/** The signatures by which Java identifies methods. */
import type { Method, Service } from "./contract.ts";
import { erasure, typeKey } from "./java-type.ts";

/** Returns the name and the erased parameters, as in a compiled class: `find(java.lang.String, java.util.List)`. */
export function erasedSignature({ javaName, parameters }: Method): string {
  return `${javaName}(${parameters.map(({ type }) => erasure(type.java)).join(", ")})`;
}

/** The methods of `java.lang.Object`. Dubbo answers some of them itself; the others are final. */
export const ofObject: ReadonlySet<string> = new Set([
  "clone()",
  "equals(java.lang.Object)",
  "finalize()",
  "getClass()",
  "hashCode()",
  "notify()",
  "notifyAll()",
  "toString()",
  "wait()",
  "wait(long)",
  "wait(long, int)",
]);

/** Returns a key that is equal for methods that are equal in Java. */
export function methodKey({ kind, javaName, parameters, result, exceptions }: Method): string {
  const types = parameters.map(({ type }) => typeKey(type.java)).join(", ");
  const answer = result === undefined ? "void" : typeKey(result.java);
  return `${kind} ${answer} ${javaName}(${types}) throws ${exceptions.join(", ")}`;
}

/** Returns a key that is equal for services whose Java interfaces are equal. */
export function serviceKey({ methods }: Service): string {
  return methods.map(methodKey).sort().join("; ");
}
