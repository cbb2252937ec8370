/** Checks of a request. An error names the file, the service and the rpc, and all mistakes are reported at once. */
import { type DescFile, type DescMethod, maximumEdition } from "@bufbuild/protobuf";
import { type CodeGeneratorRequest, Edition, type FileDescriptorProto } from "@bufbuild/protobuf/wkt";
import { methodName } from "../print/names.ts";

/** A mistake in what the plugin was asked to do. */
export class InputError extends Error {
  override readonly name = "InputError";
}

/** Throws for output paths outside the output folder or equal but for case, and for files that cannot be understood. */
export function checkFiles(request: CodeGeneratorRequest): void {
  const mistakes = request.protoFile.flatMap(fileMistakes);
  const known = new Set(request.protoFile.map(({ name }) => name));
  const byLowerCase = new Map<string, string>();
  for (const name of request.fileToGenerate) {
    const shown = JSON.stringify(name);
    if (!known.has(name)) mistakes.push(`${shown} is to be generated, but it is not in the request`);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    if (/^$|^\/|^[A-Za-z]:|[\\\u0000-\u001f]|(^|\/)\.\.?(\/|$)|\/\/|\p{Surrogate}/u.test(name)) {
      mistakes.push(`${shown} is not a path under the root of the proto files`);
    }
    const other = byLowerCase.get(name.toLowerCase());
    if (other !== undefined && other !== name) {
      mistakes.push(`${JSON.stringify(other)} and ${shown} are one file where case is ignored, rename one of them`);
    }
    byLowerCase.set(name.toLowerCase(), name);
  }
  refuse(mistakes);
}

/** Throws for services whose names TypeScript does not allow. */
export function checkServices(files: readonly DescFile[]): void {
  refuse(files.flatMap((file) => [...unprintable(file), ...clashes(file)]).sort());
}

/** The reason why a request cannot be understood: rpcs whose messages are missing from it, or else the given error. */
export function explain(request: CodeGeneratorRequest, reason: Error): InputError {
  const known = new Set<string>();
  type Nesting = CodeGeneratorRequest["protoFile"][number]["messageType"][number];
  const add = (prefix: string, { name, nestedType }: Nesting): void => {
    known.add(`${prefix}.${name}`);
    for (const nested of nestedType) add(`${prefix}.${name}`, nested);
  };
  for (const file of request.protoFile) {
    const prefix = file.package === "" ? "" : `.${file.package}`;
    for (const message of file.messageType) add(prefix, message);
  }
  const missing = request.protoFile.flatMap((file) =>
    file.service.flatMap((service) =>
      service.method.flatMap(({ name, inputType, outputType }) =>
        [inputType, outputType]
          .filter((type) => !known.has(type))
          .map((type) => {
            const owner = [...(file.package === "" ? [] : [file.package]), service.name, name].join(".");
            return `${file.name}: rpc ${owner} needs the message ${type.replace(/^\./, "")}, which no file declares`;
          }),
      ),
    ),
  );
  return new InputError(missing.length > 0 ? missing.join("\n") : reason.message);
}

/** Mistakes that the plugin kit would not report, or not in terms of the file. Compilers make neither of them. */
function fileMistakes({ name, edition, syntax, dependency, publicDependency }: FileDescriptorProto): string[] {
  const newest = Edition[maximumEdition]?.replace("EDITION_", "");
  return [
    ...(syntax === "editions" && edition > maximumEdition
      ? [`${name}: edition ${edition} is not supported, the newest that is supported is ${newest}`]
      : []),
    ...publicDependency
      .filter((index) => dependency[index] === undefined)
      .map(
        (index) => `${name}: public_dependency ${index} is not the index of one of its ${dependency.length} imports`,
      ),
  ];
}

function refuse(mistakes: readonly string[]): void {
  if (mistakes.length > 0) throw new InputError(mistakes.join("\n"));
}

/** Names that begin with a digit, which compilers refuse: only a hand-made request has them. */
function unprintable(file: DescFile): string[] {
  return file.services
    .flatMap((service) => [
      service,
      ...service.methods,
      ...service.methods.flatMap(({ input, output }) => [input, output]),
    ])
    .filter(({ name }) => /^\d/.test(name))
    .map((desc) => `${file.proto.name}: ${desc} begins with a digit, which no name in TypeScript does`);
}

/**
 * Rpcs of one service that would be one method in TypeScript, such as `GetFoo` and `getFoo`. Renaming one of them
 * silently would make names depend on the order of the file.
 */
function clashes(file: DescFile): string[] {
  const found: string[] = [];
  for (const service of file.services) {
    const seen = new Map<string, DescMethod>();
    for (const method of service.methods) {
      const name = methodName(method);
      const other = seen.get(name);
      if (other) {
        found.push(`${file.proto.name}: ${other} and ${method} are both "${name}" in TypeScript, rename one of them`);
      }
      seen.set(name, method);
    }
  }
  return found;
}
