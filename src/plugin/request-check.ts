/** Checks of a request. Errors name the file, the service and the rpc. All errors are reported at once. */
import { type DescFile, type DescMethod, maximumEdition } from "@bufbuild/protobuf";
import { type CodeGeneratorRequest, Edition, type FileDescriptorProto } from "@bufbuild/protobuf/wkt";
import { methodName } from "../print/names.ts";

/** An error in the request or in its proto files. */
export class InputError extends Error {
  override readonly name = "InputError";
}

/**
 * Throws an `InputError` for output paths that are outside the output folder or differ only in case, and for
 * unsupported or invalid files.
 */
export function checkFiles(request: CodeGeneratorRequest): void {
  const mistakes = request.protoFile.flatMap(fileMistakes);
  const known = new Set(request.protoFile.map(({ name }) => name));
  const byLowerCase = new Map<string, string>();
  for (const name of request.fileToGenerate) {
    const shown = JSON.stringify(name);
    if (!known.has(name)) mistakes.push(`${shown} is to be generated, but it is not in the request`);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches names to reject
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

/** Throws an `InputError` for services with names that are invalid in TypeScript. */
export function checkServices(files: readonly DescFile[]): void {
  refuse(files.flatMap((file) => [...unprintable(file), ...clashes(file)]).sort());
}

/**
 * Creates the error for a request that the plugin kit rejected. It names the rpcs whose messages are missing from the
 * request; if there are none, it has the message of `reason`.
 */
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

/**
 * Returns errors that the plugin kit does not report, or reports without naming the file. Compilers never produce such
 * files.
 */
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

/**
 * Returns errors for names that begin with a digit. Compilers reject such names, so only a hand-made request contains
 * them.
 */
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
 * Returns errors for rpcs of one service whose TypeScript names are equal, such as `GetFoo` and `getFoo`. Renaming one
 * of them silently would make its name depend on the order of rpcs in the file.
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
