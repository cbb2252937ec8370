/** The client part of a generated file: the client interface, and the functions that create a client. */
import type { FunctionDeclaration, InterfaceDeclaration, ParameterDeclaration } from "../print/declaration.ts";
import type { ImportedModule } from "../print/imports.ts";
import { describe, describeAgain, jsDoc } from "../print/jsdoc.ts";
import { servedSignature } from "./handler.ts";
import type { TripleOptions } from "./options.ts";
import type { MethodOutline, ServiceOutline } from "./outline.ts";
import type { Anchor } from "./source-map.ts";
import { givenStream } from "./stream-type.ts";

/**
 * Declares the client interface. It uses method syntax instead of properties, because editors can scaffold an
 * implementation of methods, and a fake client is an object literal.
 */
export function clientInterface(
  service: ServiceOutline,
  runtime: ImportedModule,
  anchor: Anchor,
  options: TripleOptions,
): InterfaceDeclaration {
  const names = service.leftOut.map(({ name }) => name).join(", ");
  const comment =
    names === ""
      ? service.comment
      : [...service.comment, "", `Rpcs with streams of requests need protobuf messages: ${names}.`];
  return {
    kind: "interface",
    doc: describe({ ...service, comment }),
    name: anchor(service.client, service.position),
    members: () =>
      service.methods
        .map((method) => `${describe(method, "  ")}\n  ${anchor(method.name, method.position)}${signature(method)};\n`)
        .join("\n"),
  };

  function signature({ method, input, output }: MethodOutline): string {
    const callOptions = `options?: ${runtime.type("CallOptions")}`;
    switch (method.methodKind) {
      case "unary":
        return `(request: ${input.init()}, ${callOptions}): Promise<${output.shape()}>`;
      case "server_streaming":
        return `(request: ${input.init()}, ${callOptions}): AsyncIterable<${output.shape()}>`;
      case "client_streaming":
        return `(requests: ${givenStream(input.init(), options)}, ${callOptions}): Promise<${output.shape()}>`;
      case "bidi_streaming":
        return `(requests: ${givenStream(input.init(), options)}, ${callOptions}): AsyncIterable<${output.shape()}>`;
    }
  }
}

export function clientFactory(service: ServiceOutline, runtime: ImportedModule, anchor: Anchor): FunctionDeclaration {
  const transport: ParameterDeclaration = { name: "transport", type: () => runtime.type("Transport") };
  const defaults: ParameterDeclaration = { name: "defaults", type: () => runtime.type("CallDefaults"), optional: true };
  return {
    kind: "function",
    doc: factoryDoc(`Creates a client of ${service.service.typeName}.`, service),
    name: anchor(service.factory, service.position),
    parameters: [transport, defaults],
    returns: () => service.client,
    result: () => `${runtime.value(clientCreator(service))}(${service.definition}, transport, defaults)`,
  };
}

/** Returns the runtime's function that creates the client. For plain JSON, a client without streams has one of its own. */
function clientCreator({ methods }: ServiceOutline): string {
  const streamsJson = methods.some(({ method, input }) => input.schema === undefined && method.methodKind !== "unary");
  return streamsJson ? "createStreamingClient" : "createClient";
}

/**
 * Declares the interface of the functions of a fake client. They take full messages and return init types, as a handler
 * does.
 */
export function fakeInterface(
  service: ServiceOutline,
  runtime: ImportedModule,
  anchor: Anchor,
  options: TripleOptions,
): InterfaceDeclaration {
  return {
    kind: "interface",
    doc: factoryDoc(`The functions that answer for a fake client of ${service.service.typeName}.`, service),
    name: anchor(service.fakeMethods, service.position),
    members: () =>
      service.methods
        .map((method) => {
          const { parameter, type, returns } = servedSignature(method, options);
          const doc = describeAgain(method, "  ");
          const parameters = `${parameter}: ${type}, options?: ${runtime.type("CallOptions")}`;
          return `${doc === "" ? "" : `${doc}\n`}  ${anchor(method.name, method.position)}?(${parameters}): ${returns};\n`;
        })
        .join("\n"),
  };
}

export function fakeFactory(service: ServiceOutline, runtime: ImportedModule, anchor: Anchor): FunctionDeclaration {
  const prose = `Creates a client of ${service.service.typeName} for tests: it has the given methods, and the others fail.`;
  return {
    kind: "function",
    doc: factoryDoc(prose, service),
    name: anchor(service.fake, service.position),
    parameters: [{ name: "methods", type: () => service.fakeMethods, optional: true }],
    returns: () => service.client,
    result: () => `${runtime.value("createFakeClient")}(${service.definition}, methods)`,
  };
}

function factoryDoc(prose: string, { deprecated }: ServiceOutline): string {
  return jsDoc(deprecated ? [prose, "", "@deprecated"] : [prose]);
}
