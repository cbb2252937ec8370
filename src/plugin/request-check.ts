/** Mistakes in a request: told in words that name the file, the service and the rpc, all of them at once. */
import type { DescFile, DescMethod } from "@bufbuild/protobuf";
import type { CodeGeneratorRequest } from "@bufbuild/protobuf/wkt";
import { methodName } from "../print/names.ts";

/** A mistake in what the plugin was asked to do. */
export class InputError extends Error {
  override readonly name = "InputError";
}

/** Throws for output paths that would leave the output folder, or meet on a disk that ignores case. */
export function checkPaths(request: CodeGeneratorRequest): void {
  const mistakes: string[] = [];
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

/** Throws for services whose code could not be right. */
export function checkServices(files: readonly DescFile[]): void {
  refuse(files.flatMap((file) => [...unprintable(file), ...clashes(file)]).sort());
}

/** Why a request cannot be understood: rpcs whose messages are missing from it, or else the reason itself. */
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

function refuse(mistakes: readonly string[]): void {
  if (mistakes.length > 0) throw new InputError(mistakes.join("\n"));
}

/** Compilers refuse names that begin with a digit; a request made by hand may have them. */
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
