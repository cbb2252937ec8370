/**
 * Comments of proto files by the full names of what they describe, from `SourceCodeInfo`. Generated code does not contain it;
 * the files that the compiler writes and the requests of plugins do.
 */
import type { DescField, DescFile, DescMessage } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

export class Comments {
  readonly #texts = new Map<string, string>();

  /** Reads the comments of files and of their imports. Files without source info have none. */
  constructor(files: Iterable<DescFile>) {
    const known = new Set<DescFile>();
    const add = (file: DescFile): void => {
      if (known.has(file)) return;
      known.add(file);
      for (const imported of file.dependencies) add(imported);
      this.#addFile(file);
    };
    for (const file of files) add(file);
  }

  /** Returns a comment as Markdown; empty text if there is none. The name of an enum value begins with that of its enum. */
  of(name: string): string {
    return this.#texts.get(name) ?? "";
  }

  #addFile({ proto }: DescFile): void {
    for (const { path, leadingComments, trailingComments } of proto.sourceCodeInfo?.location ?? []) {
      const text = [leadingComments, trailingComments].map(markdownOf).filter((one) => one !== "");
      const name = text.length > 0 ? nameAt(proto, path) : undefined;
      if (name !== undefined) this.#texts.set(name, text.join("\n\n"));
    }
  }
}

/**
 * Returns the full name of what a path of `SourceCodeInfo` leads to: numbers of fields, each with an index. `undefined`: it has no
 * name.
 */
function nameAt(file: FileDescriptorProto, path: readonly number[]): string | undefined {
  const names = [file.package];
  let type: DescMessage | undefined = FileDescriptorProtoSchema;
  let at: unknown = file;
  for (let i = 0; i < path.length; i += 2) {
    const field: DescField | undefined = type?.fields.find(({ number }) => number === path[i]);
    if (field?.fieldKind !== "list") return undefined;
    type = field.message;
    at = (at as Readonly<Record<string, readonly unknown[]>>)[field.localName]?.[path[i + 1] ?? -1];
    const { name } = Object(at) as { readonly name?: unknown };
    if (typeof name !== "string") return undefined;
    names.push(name);
  }
  return names.filter((name) => name !== "").join(".");
}

/** Returns a comment without the space after each comment sign, and without directives for linters. */
function markdownOf(comment: string): string {
  const lines = comment
    .replace(/^\*+/, "")
    .split(/\r?\n/)
    .map((line) => line.replace(/^ /, "").trimEnd());
  return lines
    .filter((line) => !line.startsWith("buf:lint:ignore"))
    .join("\n")
    .trim();
}
