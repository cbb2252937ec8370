/**
 * The plugin. It generates a file for each proto file with services, and with the option `codecs` a file for each proto
 * file with messages. The option `openapi` adds a document of OpenAPI for each proto file with services.
 */
import { create, type DescFile } from "@bufbuild/protobuf";
import {
  type CodeGeneratorRequest,
  type CodeGeneratorResponse,
  CodeGeneratorResponseSchema,
} from "@bufbuild/protobuf/wkt";
import { createEcmaScriptPlugin, type Plugin, type Schema } from "@bufbuild/protoplugin";
import type { Target } from "../print/declaration.ts";
import { memo } from "../print/memoize.ts";
import { version } from "../version.ts";
import { codecFile, messagesOf } from "./codec/codec-file.ts";
import { indexSource } from "./comments.ts";
import { generatedFile } from "./generated-file.ts";
import { openApiFile } from "./openapi-file.ts";
import { OptionsError, type OwnOptions, readOptions } from "./options.ts";
import { createPbNames } from "./pb-names.ts";
import { checkFiles, checkServices, explain, InputError } from "./request-check.ts";

const identity = { name: "protoc-gen-triple-es", version };

/**
 * The plugin. Errors in options or input are returned in the response without any file, and buf and protoc print them.
 * Other errors are thrown.
 */
export const plugin: Plugin = {
  ...identity,
  run(request) {
    try {
      return generate(request);
    } catch (error) {
      if (!(error instanceof InputError || error instanceof OptionsError)) throw error;
      return create(CodeGeneratorResponseSchema, { error: error.message });
    }
  },
};

function generate(request: CodeGeneratorRequest): CodeGeneratorResponse {
  const { own, kit } = readOptions(request.parameter);
  checkFiles(request);
  let isUnderstood = false;
  const printer = (schema: Schema, target: Target): void => {
    // Documents do not depend on the target, of which there may be several.
    if (own.openApi && !isUnderstood) printDocuments(schema);
    isUnderstood = true;
    print(schema, own, target);
  };
  const generator = createEcmaScriptPlugin({
    ...identity,
    generateTs: printer,
    generateJs: printer,
    generateDts: printer,
  });
  try {
    return generator.run({ ...request, parameter: kit });
  } catch (error) {
    // An error that the kit throws before it calls the printer names descriptors instead of the rpc that is wrong.
    throw isUnderstood || !(error instanceof Error) ? error : explain(request, error);
  }
}

function printDocuments({ files, generateFile }: Schema): void {
  checkServices(files);
  const documents = files
    .filter(({ services }) => services.length > 0)
    .map((file) => ({ file, path: `${file.name}_openapi.json` }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
  for (const { file, path } of documents) generateFile(path).print(openApiFile(file));
}

function print(schema: Schema, own: OwnOptions, target: Target): void {
  checkServices(schema.files);
  const options = { ...schema.options, ...own };
  const extension = target === "dts" ? "d.ts" : target;
  const files = schema.files
    .filter((file) => file.services.length > 0 || options.keepEmptyFiles)
    .map((file) => ({ file, path: `${file.name}_triple.${extension}` }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ file, path }) => ({ file, path, f: schema.generateFile(path) }));
  const codecs = schema.files
    .filter((file) => options.codecs && (messagesOf(file).length > 0 || options.keepEmptyFiles))
    .map((file) => ({ file, path: `${file.name}_codec.${extension}` }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ file, path }) => ({ file, path, f: schema.generateFile(path) }));
  const anyFile = files[0] ?? codecs[0];
  if (!anyFile) {
    return;
  }
  const wanted = {
    messages: options.messages === "json" || options.initTypes === "expanded",
    positions: options.protoSourceMap !== undefined,
  };
  const tools = {
    options,
    generator: identity,
    pb: createPbNames((file) => anyFile.f.importSchema(file).from),
    textOf: memo((file: DescFile) => indexSource(file, wanted)),
  };
  for (const { file, path, f } of files) {
    const { text, map } = generatedFile(file, path, target, tools);
    f.print(text);
    if (map !== undefined) schema.generateFile(`${path}.map`).print(map);
  }
  for (const { file, path, f } of codecs) f.print(codecFile(file, path, target, tools));
}
