/** Identifiers: how an rpc is called in TypeScript, and how clashes are settled. */
import type { DescMethod } from "@bufbuild/protobuf";

/**
 * Names a client or handler must not have as methods, beyond those protobuf-es escapes itself (`constructor`,
 * `toString`, `toJSON`, `valueOf`). A method `then` would make every client a thenable, which `await` calls.
 */
export const unsafeMethodNames: ReadonlySet<string> = new Set([
  "__proto__",
  "arguments",
  "catch",
  "finally",
  "hasOwnProperty",
  "length",
  "name",
  // In an interface `new(…)` is not a method but what a class can be constructed with.
  "new",
  "prototype",
  "then",
]);

/** The name of an rpc as a method in TypeScript. `$` cannot occur in a proto file, so the escape never meets a name. */
export function methodName(method: DescMethod): string {
  return unsafeMethodNames.has(method.localName) ? `${method.localName}$` : method.localName;
}

/** A set of taken identifiers that hands out free ones. */
export class Scope {
  /** All claimed identifiers, in the order of the claims. */
  readonly claimed: string[] = [];
  private readonly taken: Set<string>;

  constructor(reserved: Iterable<string>) {
    this.taken = new Set(reserved);
  }

  /** The wanted identifier, with as many `$` appended as it takes to be free. */
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
 * Identifiers no import may have in a generated file: the globals that it uses, and words that TypeScript refuses
 * as the name of an import or of a type though a message may have them. (Keywords are escaped by protoc-gen-es.)
 */
export const unbindable: readonly string[] = [
  "AsyncGenerator",
  "AsyncIterable",
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
