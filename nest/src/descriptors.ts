/**
 * Schemas from the descriptors that `@grpc/proto-loader` makes. They have one file for each package, relative names of types, no
 * imports and no syntax.
 */
import { create, createFileRegistry, type FileRegistry, fromBinary } from "@bufbuild/protobuf";
import { protoCamelCase } from "@bufbuild/protobuf/reflect";
import {
  type DescriptorProto,
  Edition,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";

/** Creates the schemas of encoded files. Throws an `Error` for packages that import each other. */
export function createSchemas(encoded: readonly Uint8Array[]): FileRegistry {
  const files = encoded.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
  /** The files of all messages and enums, by their full names. */
  const fileOf = new Map<string, FileDescriptorProto>();
  for (const file of files) {
    for (const [, message] of messagesOf(file)) renameEntries(message);
    for (const [scope, { enumType }] of [[scopeOf(file), file] as const, ...messagesOf(file)]) {
      fileOf.set(scope, file);
      for (const { name } of enumType) fileOf.set(`${scope}.${name}`, file);
    }
  }

  /** Returns the full name of a type, which is relative to the innermost scope that has it. */
  const resolve = (scope: string, name: string): string => {
    let outer = scope;
    while (outer !== "" && !fileOf.has(`${outer}.${name}`)) outer = outer.slice(0, outer.lastIndexOf("."));
    return name.startsWith(".") ? name : `${outer}.${name}`;
  };

  const importsOf = (file: FileDescriptorProto): FileDescriptorProto[] => {
    const fields = messagesOf(file).flatMap(([, { field }]) => field.map(({ typeName }) => typeName));
    const messages = file.service.flatMap(({ method }) => method.flatMap((one) => [one.inputType, one.outputType]));
    const imported = new Set([...fields, ...messages].map((name) => fileOf.get(name)));
    return [...imported].filter((one) => one !== undefined && one !== file) as FileDescriptorProto[];
  };

  for (const file of files) {
    // Explicit presence keeps a value of 0 that was received or returned, whatever the syntax of the proto file.
    Object.assign(file, { syntax: "editions", edition: Edition.EDITION_2023, extension: [] });
    for (const [scope, message] of messagesOf(file)) {
      message.field = message.field.filter(({ name, extendee }) => extendee === "" && !name.startsWith("."));
      for (const field of message.field) {
        field.jsonName ||= protoCamelCase(field.name);
        if (field.typeName) field.typeName = resolve(scope, field.typeName);
      }
    }
  }

  const ordered = new Set<FileDescriptorProto>();
  const add = (file: FileDescriptorProto, importing: readonly FileDescriptorProto[]): void => {
    if (ordered.has(file)) return;
    if (importing.includes(file)) {
      const packages = importing.map((one) => one.package).join(", ");
      throw new Error(`the packages ${packages} import each other: generate code, and set the option services`);
    }
    const imported = importsOf(file);
    file.dependency = imported.map(({ name }) => name);
    for (const one of imported) add(one, [...importing, file]);
    ordered.add(file);
  };
  for (const file of files) add(file, []);
  return createFileRegistry(create(FileDescriptorSetSchema, { file: [...ordered] }));
}

/** Renames the entries of maps, which are named after their fields, as a message beside them may be. */
function renameEntries({ field, nestedType }: DescriptorProto): void {
  for (const map of field) {
    const entry = nestedType.find(({ name, options }) => options?.mapEntry && name === map.typeName);
    if (entry?.name.slice(1) === map.name.slice(1)) map.typeName = entry.name = `${entry.name}Entry`;
  }
}

const scopeOf = (file: FileDescriptorProto): string => (file.package === "" ? "" : `.${file.package}`);

/** The messages of a file with their full names, nested ones included. */
function messagesOf(file: FileDescriptorProto): [name: string, message: DescriptorProto][] {
  const withNested = (scope: string, message: DescriptorProto): [string, DescriptorProto][] => {
    const name = `${scope}.${message.name}`;
    return [[name, message], ...message.nestedType.flatMap((one) => withNested(name, one))];
  };
  return file.messageType.flatMap((message) => withNested(scopeOf(file), message));
}
