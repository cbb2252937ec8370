/** The complete text of a generated file. */
import type { DescFile } from "@bufbuild/protobuf";
import { type Declaration, exportStatements, printDeclaration, type Target } from "../print/declaration.ts";
import { relativePath } from "../print/imports.ts";
import { clientFactory, clientInterface, fakeFactory, fakeInterface } from "./client.ts";
import { methodConstant, serviceDefinition } from "./definition.ts";
import { handlerBase, handlerInterface } from "./handler.ts";
import type { Tools } from "./message-types.ts";
import type { TripleOptions } from "./options.ts";
import { type FileOutline, outline } from "./outline.ts";
import { commonJs, emptyModule, type Generator, preamble } from "./preamble.ts";
import { type Anchor, mark, noAnchor, sourceMap, unmark } from "./source-map.ts";

/** The text without its last line break, and the text of its source map, if there is one. */
export interface GeneratedFile {
  readonly text: string;
  readonly map?: string;
}

export function generatedFile(
  file: DescFile,
  path: string,
  target: Target,
  tools: Tools & { readonly generator: Generator },
): GeneratedFile {
  const { options, textOf, generator } = tools;
  const head = preamble(file, textOf(file), generator, options);
  if (file.services.length === 0) return { text: `${head}\n${emptyModule(target, options)}` };

  const { protoSourceMap } = options;
  const isMapped = target === "dts" && protoSourceMap !== undefined;
  const outlined = outline(file, path, tools);
  const declarations = [...outlined.messages, ...serviceDeclarations(outlined, options, isMapped ? mark : noAnchor)];
  const isCommonJs = target === "js" && options.jsImportStyle === "legacy_commonjs";
  const body = declarations
    .map((declaration) => printDeclaration(declaration, target, isCommonJs ? "" : "export "))
    .filter((text) => text !== "");
  // The import statements are printed after the body, because printing the body collects the imports.
  const language = isCommonJs ? "CommonJS" : target === "js" ? "JavaScript" : "TypeScript";
  const imports = outlined.imports.statements(language).join("\n");
  const blocks = isCommonJs ? [commonJs, imports, ...body, exportStatements(declarations)] : [imports, ...body];
  const text = `${head}\n${blocks.filter((block) => block !== "").join("\n\n")}`;
  if (!isMapped) return { text };

  const { text: plain, mappings } = unmark(text);
  const name = path.slice(path.lastIndexOf("/") + 1);
  const source = relativePath(path, `${protoSourceMap.replace(/^\.\/|\/$/g, "")}/${file.proto.name}`);
  return {
    text: `${plain}\n//# sourceMappingURL=${encodeURIComponent(name)}.map`,
    map: sourceMap(name, source, mappings),
  };
}

function serviceDeclarations(
  { services, runtime }: FileOutline,
  options: TripleOptions,
  anchor: Anchor,
): Declaration[] {
  const { parts, serverBase, fakes } = options;
  const client = parts.has("client");
  const server = parts.has("server");
  return services.flatMap((service): Declaration[] => [
    ...(client ? [clientInterface(service, runtime, anchor, options)] : []),
    ...(server ? [handlerInterface(service, runtime, anchor, options)] : []),
    ...service.methods.map((method) => methodConstant(method, runtime, anchor, options)),
    serviceDefinition(service, runtime, anchor, options),
    ...(client ? [clientFactory(service, runtime, anchor)] : []),
    ...(server && serverBase ? [handlerBase(service, runtime, anchor, options)] : []),
    ...(client && fakes
      ? [fakeInterface(service, runtime, anchor, options), fakeFactory(service, runtime, anchor)]
      : []),
  ]);
}
