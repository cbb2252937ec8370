/** The interfaces of a service's client and handler, and how the kind of a method shows in the types of both. */
import type { Declaration } from "../../print/declaration.ts";
import { type Documented, describe } from "../../print/jsdoc.ts";
import { propertyKey } from "../../print/literal.ts";

export type MethodKind = "unary" | "server_streaming" | "client_streaming" | "bidi_streaming";

export function kindOf(takesStream: boolean, answersStream: boolean): MethodKind {
  if (takesStream) return answersStream ? "bidi_streaming" : "client_streaming";
  return answersStream ? "server_streaming" : "unary";
}

interface Named extends Documented {
  readonly name: string;
}

/** One of the interfaces: its name, and the signature of a method. */
interface Side<Method> {
  readonly name: string;
  readonly signature: (method: Method) => string;
}

/** Declares an interface for each side. */
export function serviceInterfaces<Method extends Named>(
  service: Documented,
  methods: readonly Method[],
  ...sides: readonly Side<Method>[]
): Declaration[] {
  return sides.map(({ name, signature }) => ({
    kind: "interface",
    doc: describe(service),
    name,
    members: () =>
      methods
        .map((method) => `${describe(method, "  ")}\n  ${propertyKey(method.name)}${signature(method)};\n`)
        .join("\n"),
  }));
}

/** Returns the type of what a method takes. */
export function givenType(kind: MethodKind, type: string): string {
  return kind === "client_streaming" || kind === "bidi_streaming" ? `AsyncIterable<${type}>` : type;
}

/** Returns the type of what a method of a client returns. */
export function clientResult(kind: MethodKind, type: string): string {
  return `${answersStream(kind) ? "AsyncIterable" : "Promise"}<${type}>`;
}

/** Returns the type of what a method of a handler returns. */
export function handlerResult(kind: MethodKind, type: string): string {
  return answersStream(kind) ? `AsyncIterable<${type}> | Iterable<${type}>` : `${type} | Promise<${type}>`;
}

function answersStream(kind: MethodKind): boolean {
  return kind === "server_streaming" || kind === "bidi_streaming";
}
