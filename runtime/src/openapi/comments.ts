/**
 * Comments of proto files by the full names of what they describe, from `SourceCodeInfo`. Generated code does not contain it;
 * the files that the compiler writes and the requests of plugins do.
 */
import type { DescFile } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  DescriptorProtoSchema,
  type EnumDescriptorProto,
  EnumDescriptorProtoSchema,
  FileDescriptorProtoSchema,
  ServiceDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";

const { service, messageType, enumType } = FileDescriptorProtoSchema.field;
const { field, nestedType, enumType: nestedEnum } = DescriptorProtoSchema.field;
const METHOD_FIELD = ServiceDescriptorProtoSchema.field.method.number;
const VALUE_FIELD = EnumDescriptorProtoSchema.field.value.number;

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
    const byPath = new Map<string, string>();
    for (const { path, leadingComments, trailingComments } of proto.sourceCodeInfo?.location ?? []) {
      const text = [leadingComments, trailingComments].map(markdownOf).filter((one) => one !== "");
      if (text.length > 0) byPath.set(path.join(), text.join("\n\n"));
    }
    if (byPath.size === 0) return;
    const add = (name: string, path: readonly number[]): void => {
      const text = byPath.get(path.join());
      if (text !== undefined) this.#texts.set(name, text);
    };
    const scope = proto.package === "" ? "" : `${proto.package}.`;
    for (const [index, { name, method }] of proto.service.entries()) {
      const path = [service.number, index];
      add(`${scope}${name}`, path);
      for (const [at, one] of method.entries()) add(`${scope}${name}.${one.name}`, [...path, METHOD_FIELD, at]);
    }
    for (const [index, one] of proto.messageType.entries()) addMessage(one, scope, [messageType.number, index], add);
    for (const [index, one] of proto.enumType.entries()) addEnum(one, scope, [enumType.number, index], add);
  }
}

type Add = (name: string, path: readonly number[]) => void;

function addMessage(message: DescriptorProto, scope: string, path: readonly number[], add: Add): void {
  const name = `${scope}${message.name}`;
  add(name, path);
  for (const [index, one] of message.field.entries()) add(`${name}.${one.name}`, [...path, field.number, index]);
  for (const [index, one] of message.nestedType.entries()) {
    addMessage(one, `${name}.`, [...path, nestedType.number, index], add);
  }
  for (const [index, one] of message.enumType.entries()) {
    addEnum(one, `${name}.`, [...path, nestedEnum.number, index], add);
  }
}

function addEnum({ name, value }: EnumDescriptorProto, scope: string, path: readonly number[], add: Add): void {
  add(`${scope}${name}`, path);
  for (const [index, one] of value.entries()) add(`${scope}${name}.${one.name}`, [...path, VALUE_FIELD, index]);
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
