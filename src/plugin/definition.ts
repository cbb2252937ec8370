/** The method and service definitions of a generated file: a constant for each method, and one for the service. */
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import { type ConstantDeclaration, objectLiteral } from "../print/declaration.ts";
import type { ImportedModule } from "../print/imports.ts";
import { describeAgain } from "../print/jsdoc.ts";
import { literal } from "../print/literal.ts";
import { FORMAT } from "../version.ts";
import { javaNames } from "./java-names.ts";
import type { TripleOptions } from "./options.ts";
import type { MethodOutline, ServiceOutline } from "./outline.ts";
import type { Anchor } from "./source-map.ts";

/** The runtime's type for each kind of method. */
const methodTypes = {
  unary: "UnaryMethod",
  server_streaming: "ServerStreamingMethod",
  client_streaming: "ClientStreamingMethod",
  bidi_streaming: "BidiStreamingMethod",
} as const;

/**
 * Declares the constant of a method. Its value contains no function call, so bundlers can drop the constants of unused
 * methods.
 */
export function methodConstant(
  outline: MethodOutline,
  runtime: ImportedModule,
  anchor: Anchor,
  options: TripleOptions,
): ConstantDeclaration {
  const { method, constant, input, output } = outline;
  return {
    kind: "const",
    doc: describeAgain(outline),
    name: anchor(constant, outline.position),
    type: () => `${runtime.type(methodTypes[method.methodKind])}<${input.init()}, ${output.shape()}>`,
    value: () => {
      const service = method.parent.typeName;
      const facts: [string, string][] = [
        ["kind", literal(method.methodKind)],
        ["service", literal(service)],
        ["name", literal(method.name)],
        ["path", literal(`/${service}/${method.name}`)],
        ...messageFacts(outline, runtime),
      ];
      if (method.idempotency === Idempotency.NO_SIDE_EFFECTS) facts.push(["idempotency", '"no_side_effects"']);
      if (method.idempotency === Idempotency.IDEMPOTENT) facts.push(["idempotency", '"idempotent"']);
      if (outline.deprecated) facts.push(["deprecated", "true"]);
      if (options.javaNames) {
        const alias = javaNames(method);
        facts.push(["alias", `{ service: ${literal(alias.service)}, method: ${literal(alias.method)} }`]);
      }
      if (outline.descriptor !== undefined) facts.push(["descriptor", `() => ${outline.descriptor()}`]);
      return objectLiteral(facts);
    },
  };
}

/** Returns the properties for the schemas and codecs of the method's messages, or `payload` for plain JSON. */
function messageFacts({ method, input, output }: MethodOutline, runtime: ImportedModule): [string, string][] {
  if (input.schema === undefined || output.schema === undefined) {
    return [["payload", runtime.value(method.methodKind === "unary" ? "plainJson" : "plainJsonStreams")]];
  }
  const codecs = input.codec && output.codec ? `{ input: ${input.codec()}, output: ${output.codec()} }` : undefined;
  return [
    ["input", input.schema()],
    ["output", output.schema()],
    ...(codecs === undefined ? [] : [["codecs", codecs] as [string, string]]),
  ];
}

export function serviceDefinition(
  outline: ServiceOutline,
  runtime: ImportedModule,
  anchor: Anchor,
  { parts }: TripleOptions,
): ConstantDeclaration {
  const { service, definition, methods } = outline;
  const client = parts.has("client") ? outline.client : "object";
  const handler = parts.has("server") ? outline.handler : "object";
  const table = methods.map(({ name, constant }): [string, string] => [name, constant]);
  return {
    kind: "const",
    doc: describeAgain(outline),
    name: anchor(definition, outline.position),
    type: () => `${runtime.type("ServiceDef")}<${client}, ${handler}>`,
    value: () =>
      objectLiteral([
        ["typeName", literal(service.typeName)],
        ["methods", objectLiteral(table, "  ")],
        ["format", FORMAT],
      ]),
  };
}
