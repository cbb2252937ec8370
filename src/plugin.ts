/** The plugin: one generated file for each proto file that has services. */
import { create } from "@bufbuild/protobuf";
import {
  type CodeGeneratorRequest,
  type CodeGeneratorResponse,
  CodeGeneratorResponseSchema,
} from "@bufbuild/protobuf/wkt";
import { createEcmaScriptPlugin, type Plugin, type Schema } from "@bufbuild/protoplugin";
import { clientFactory, clientInterface } from "./client.ts";
import { initAlias, methodConstant, serviceDefinition } from "./definition.ts";
import { handlerInterface } from "./handler.ts";
import { findClashes } from "./names.ts";
import { parseOptions, type TripleOptions } from "./options.ts";
import { type FileOutline, outline } from "./outline.ts";
import { createPbNames } from "./pb.ts";

const generator = createEcmaScriptPlugin<TripleOptions>({
  name: "protoc-gen-triple-es",
  version: "v0.1.0",
  parseOptions,
  generateTs,
});

/** The kit's plugin, except that mistakes of the user are answered in the response, where buf and protoc look for them. */
export const plugin: Plugin = { ...generator, run };

/** A mistake in a proto file. */
class ProtoError extends Error {
  override readonly name = "ProtoError";
}

function run(request: CodeGeneratorRequest): CodeGeneratorResponse {
  try {
    return generator.run(request);
  } catch (error) {
    if (error instanceof Error && (error.name === "ProtoError" || error.name === "PluginOptionError")) {
      return create(CodeGeneratorResponseSchema, { error: error.message });
    }
    throw error;
  }
}

function generateTs(schema: Schema<TripleOptions>): void {
  const clashes = schema.files.flatMap(findClashes).sort();
  if (clashes.length > 0) {
    throw new ProtoError(clashes.join("\n"));
  }
  const files = schema.files
    .map((file) => ({ file, path: `${file.name}_triple.ts` }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ file, path }) => ({ file, path, f: schema.generateFile(path) }));
  const [anyFile] = files;
  if (!anyFile) {
    return;
  }
  const pb = createPbNames((file) => anyFile.f.importSchema(file).from);
  for (const { file, path, f } of files) {
    f.preamble(file);
    if (file.services.length > 0) {
      f.print(content(outline(file, path, pb, schema.options), schema.options));
    }
  }
}

/** A generated file from top to bottom. The imports stand first but are known last. */
function content({ messages, services, imports }: FileOutline, options: TripleOptions): string {
  const protobuf = imports.module("@bufbuild/protobuf");
  const runtime = imports.module(options.runtimeImport);
  const body = [
    ...messages.map((message) => initAlias(message, protobuf)),
    ...services.flatMap((service) => [
      clientInterface(service, runtime),
      handlerInterface(service, runtime),
      ...service.methods.map((method) => methodConstant(method, runtime)),
      serviceDefinition(service, runtime),
      clientFactory(service, runtime),
    ]),
  ];
  return [imports.statements().join("\n"), ...body].join("\n\n");
}
