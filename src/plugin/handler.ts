/** The server part of a generated file: the handler interface, and a base class for handlers. */
import type { Callable, ClassDeclaration, InterfaceDeclaration } from "../print/declaration.ts";
import type { ImportedModule } from "../print/imports.ts";
import { describe, describeAgain, jsDoc } from "../print/jsdoc.ts";
import type { TripleOptions } from "./options.ts";
import type { MethodOutline, ServiceOutline } from "./outline.ts";
import type { Anchor } from "./source-map.ts";
import { givenStream } from "./stream-type.ts";

/**
 * Declares the handler interface. Methods take full messages and return init types. All types are named, because
 * editors copy named types unchanged into an implementation.
 */
export function handlerInterface(
  service: ServiceOutline,
  runtime: ImportedModule,
  anchor: Anchor,
  options: TripleOptions,
): InterfaceDeclaration {
  return {
    kind: "interface",
    doc: describe(service),
    name: anchor(service.handler, service.position),
    members: () =>
      service.methods
        .map((method) => {
          const { parameter, type, returns } = servedSignature(method, options);
          const name = anchor(method.name, method.position);
          const parameters = `${parameter}: ${type}, context: ${runtime.type("HandlerContext")}`;
          return `${describe(method, "  ")}\n  ${name}(${parameters}): ${returns};\n`;
        })
        .join("\n"),
  };
}

/**
 * Declares the base class. Each of its methods fails with the code unimplemented, so a server still compiles after its
 * service gets another method.
 */
export function handlerBase(
  service: ServiceOutline,
  runtime: ImportedModule,
  anchor: Anchor,
  options: TripleOptions,
): ClassDeclaration {
  return {
    kind: "class",
    doc: jsDoc([`Answers every call of ${service.service.typeName} as not implemented: extend it, method by method.`]),
    name: anchor(service.base, service.position),
    implements: service.handler,
    methods: service.methods.map(
      (method): Callable => ({
        doc: describeAgain(method, "  "),
        name: anchor(method.name, method.position),
        parameters: [
          { name: `_${servedSignature(method, options).parameter}`, type: () => servedSignature(method, options).type },
          { name: "context", type: () => runtime.type("HandlerContext") },
        ],
        returns: () => servedSignature(method, options).returns,
        result: () => `${runtime.value("unimplemented")}(context)`,
      }),
    ),
  };
}

interface Signature {
  readonly parameter: string;
  readonly type: string;
  readonly returns: string;
}

/** Returns the parameter and the result type of a method on the side that answers calls. */
export function servedSignature({ method, input, output }: MethodOutline, options: TripleOptions): Signature {
  const one = { parameter: "request", type: input.shape() };
  const many = { parameter: "requests", type: `AsyncIterable<${input.shape()}>` };
  const init = output.init();
  const stream = `${givenStream(init, options)} | Iterable<${init}>`;
  switch (method.methodKind) {
    case "unary":
      return { ...one, returns: `${init} | Promise<${init}>` };
    case "server_streaming":
      return { ...one, returns: stream };
    case "client_streaming":
      return { ...many, returns: `${init} | Promise<${init}>` };
    case "bidi_streaming":
      return { ...many, returns: stream };
  }
}
