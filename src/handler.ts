/** The server half of a generated file: the interface that users implement. */
import { describe } from "./comments.ts";
import type { ImportedModule } from "./imports.ts";
import type { MethodOutline, ServiceOutline } from "./outline.ts";

/** Full messages come in, and whatever makes a message goes out. Named types only: editors copy them faithfully. */
export function handlerInterface(service: ServiceOutline, runtime: ImportedModule): string {
  const members = service.methods.map((method) => `${describe(method, "  ")}\n  ${handlerMethod(method, runtime)};\n`);
  return `${describe(service)}
export interface ${service.handler} {
${members.join("\n")}}`;
}

function handlerMethod({ method, name, input, output }: MethodOutline, runtime: ImportedModule): string {
  const context = `context: ${runtime.type("HandlerContext")}`;
  switch (method.methodKind) {
    case "unary":
      return `${name}(request: ${input.shape}, ${context}): ${output.init} | Promise<${output.init}>`;
    case "server_streaming":
      return `${name}(request: ${input.shape}, ${context}): AsyncIterable<${output.init}>`;
    case "client_streaming":
      return `${name}(requests: AsyncIterable<${input.shape}>, ${context}): ${output.init} | Promise<${output.init}>`;
    case "bidi_streaming":
      return `${name}(requests: AsyncIterable<${input.shape}>, ${context}): AsyncIterable<${output.init}>`;
  }
}
