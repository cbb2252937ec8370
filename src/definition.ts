/** The facts of a generated file: aliases of messages, a constant for each method, and one for the service. */
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import { describe } from "./comments.ts";
import type { ImportedModule } from "./imports.ts";
import { literal } from "./literal.ts";
import type { MessageOutline, MethodOutline, ServiceOutline } from "./outline.ts";

/** The runtime's type for each kind of method. */
const methodTypes = {
  unary: "UnaryMethod",
  server_streaming: "ServerStreamingMethod",
  client_streaming: "ClientStreamingMethod",
  bidi_streaming: "BidiStreamingMethod",
} as const;

/** A named type, so that signatures show one word and editors can copy them. */
export function initAlias({ message, schema, init }: MessageOutline, protobuf: ImportedModule): string {
  return `/** What may be passed as a ${message.typeName}. */
export type ${init} = ${protobuf.type("MessageInitShape")}<typeof ${schema}>;`;
}

/** One constant per method and nothing that runs: a bundler keeps the methods that are used. */
export function methodConstant(outline: MethodOutline, runtime: ImportedModule): string {
  const { method, constant, input, output, deprecated } = outline;
  const type = `${runtime.type(methodTypes[method.methodKind])}<${input.init}, ${output.shape}>`;
  const service = method.parent.typeName;
  const lines = [
    `kind: ${literal(method.methodKind)}`,
    `service: ${literal(service)}`,
    `name: ${literal(method.name)}`,
    `path: ${literal(`/${service}/${method.name}`)}`,
    `input: ${input.schema}`,
    `output: ${output.schema}`,
  ];
  if (method.idempotency === Idempotency.NO_SIDE_EFFECTS) {
    lines.push('idempotency: "no_side_effects"');
  } else if (method.idempotency === Idempotency.IDEMPOTENT) {
    lines.push('idempotency: "idempotent"');
  }
  if (deprecated) {
    lines.push("deprecated: true");
  }
  return `${describe(outline)}
export const ${constant}: ${type} = {
${lines.map((line) => `  ${line},\n`).join("")}};`;
}

export function serviceDefinition(outline: ServiceOutline, runtime: ImportedModule): string {
  const { service, client, handler, definition, methods } = outline;
  return `${describe(outline)}
export const ${definition}: ${runtime.type("ServiceDef")}<${client}, ${handler}> = {
  typeName: ${literal(service.typeName)},
  methods: {
${methods.map(({ name, constant }) => `    ${name}: ${constant},\n`).join("")}  },
};`;
}
