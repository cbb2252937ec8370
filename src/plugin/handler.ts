/** The server half of a generated file: the interface that users implement, and a base class to start from. */

import type { Callable, ClassDeclaration, InterfaceDeclaration } from "../print/declaration.ts";
import type { ImportedModule } from "../print/imports.ts";
import { describe, describeAgain, jsDoc } from "../print/jsdoc.ts";
import type { TripleOptions } from "./options.ts";
import type { MethodOutline, ServiceOutline } from "./outline.ts";
import type { Anchor } from "./source-map.ts";
import { givenStream } from "./stream-type.ts";

/** Full messages come in, and whatever makes a message goes out. Named types only: editors copy them faithfully. */
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

/** Every method refuses its calls, so a server still compiles when its service gets another method. */
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

/** The parameter and the result of a method as the side that answers calls declares them. */
export function servedSignature({ method, input, output }: MethodOutline, options: TripleOptions): Signature {
  const one = { parameter: "request", type: input.shape() };
  const many = { parameter: "requests", type: `AsyncIterable<${input.shape()}>` };
  const init = output.init();
  const stream = givenStream(init, options);
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
