/** Identifiers: the TypeScript names of rpcs, and unique names for declarations and imports. */
import type { DescMethod } from "@bufbuild/protobuf";

const unsafeMethodNames: ReadonlySet<string> = new Set([
  "arguments",
  "catch",
  "finally",
  "length",
  "name",
  // In an interface, `new(…)` declares a construct signature instead of a method.
  "new",
  "prototype",
  "then",
  "toJSON",
]);

/**
 * Reports whether methods of a client or handler must not have the name. A method `then` would make every client a
 * thenable, which `await` calls, and each object has the methods of `Object.prototype` already.
 */
export function isUnsafeMethodName(name: string): boolean {
  return unsafeMethodNames.has(name) || name in Object.prototype;
}

/**
 * Returns the TypeScript name of an rpc. `$` is invalid in names of a proto file, so an escaped name never equals
 * another name.
 */
export function methodName(method: DescMethod): string {
  return isUnsafeMethodName(method.localName) ? `${method.localName}$` : method.localName;
}

/** A set of taken identifiers, from which unique identifiers are claimed. */
export class Scope {
  /** All claimed identifiers, in the order of the claims. */
  readonly claimed: string[] = [];
  private readonly taken: Set<string>;

  constructor(reserved: Iterable<string>) {
    this.taken = new Set(reserved);
  }

  /** Claims an identifier: the wanted one, with `$` appended until it is free. */
  claim(wanted: string): string {
    let name = wanted;
    while (this.taken.has(name)) {
      name += "$";
    }
    this.taken.add(name);
    this.claimed.push(name);
    return name;
  }
}

/**
 * Identifiers that no import may have in a generated file: the globals that it uses, and words that a message name may
 * be but that TypeScript rejects as the name of an import or a type. protoc-gen-es escapes keywords.
 */
export const unbindable: readonly string[] = [
  "AsyncGenerator",
  "AsyncIterable",
  "Iterable",
  "Partial",
  "Promise",
  "abstract",
  "any",
  "arguments",
  "as",
  "asserts",
  "async",
  "await",
  "eval",
  "exports",
  "infer",
  "intrinsic",
  "is",
  "keyof",
  "module",
  "never",
  "readonly",
  "require",
  "symbol",
  "undefined",
  "unique",
  "unknown",
];
