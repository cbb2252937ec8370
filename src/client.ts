/** The client half of a generated file: the interface that callers see, and the function that makes a client. */
import { describe, jsDoc } from "./comments.ts";
import type { ImportedModule } from "./imports.ts";
import type { MethodOutline, ServiceOutline } from "./outline.ts";

/** Method syntax, not properties: editors scaffold an implementation of it, and a fake is an object literal. */
export function clientInterface(service: ServiceOutline, runtime: ImportedModule): string {
  const members = service.methods.map((method) => `${describe(method, "  ")}\n  ${clientMethod(method, runtime)};\n`);
  return `${describe(service)}
export interface ${service.client} {
${members.join("\n")}}`;
}

function clientMethod({ method, name, input, output }: MethodOutline, runtime: ImportedModule): string {
  const options = `options?: ${runtime.type("CallOptions")}`;
  switch (method.methodKind) {
    case "unary":
      return `${name}(request: ${input.init}, ${options}): Promise<${output.shape}>`;
    case "server_streaming":
      return `${name}(request: ${input.init}, ${options}): AsyncIterable<${output.shape}>`;
    case "client_streaming":
      return `${name}(requests: AsyncIterable<${input.init}>, ${options}): Promise<${output.shape}>`;
    case "bidi_streaming":
      return `${name}(requests: AsyncIterable<${input.init}>, ${options}): AsyncIterable<${output.shape}>`;
  }
}

export function clientFactory(outline: ServiceOutline, runtime: ImportedModule): string {
  const { service, client, definition, factory, deprecated } = outline;
  const prose = `Makes a client of ${service.typeName}.`;
  return `${deprecated ? jsDoc([prose, "", "@deprecated"]) : `/** ${prose} */`}
export function ${factory}(transport: ${runtime.type("Transport")}, defaults?: ${runtime.type("CallDefaults")}): ${client} {
  return ${runtime.value("createClient")}(${definition}, transport, defaults);
}`;
}
