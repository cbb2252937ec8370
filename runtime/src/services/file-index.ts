/**
 * An index of proto files by name and by the symbols they declare. Generated code contains the descriptors of its files, so
 * every file that the messages of a method depend on is available without its proto source.
 */
import { type DescExtension, type DescFile, toBinary } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { ServiceDef } from "../call/call.ts";

export class FileIndex {
  readonly #files = new Map<string, DescFile>();
  readonly #symbols = new Map<string, DescFile>();
  /** Files with extensions, by the full name of the extended message, then by field number. */
  readonly #extensions = new Map<string, Map<number, DescFile>>();
  readonly #encoded = new Map<DescFile, Uint8Array>();

  /** Adds a file and its imports. A file whose name is already in the index is ignored. */
  add(file: DescFile): void {
    const { name } = file.proto;
    if (this.#files.has(name)) return;
    this.#files.set(name, file);
    for (const symbol of symbolsOf(file)) this.#symbols.set(symbol, file);
    for (const type of nestedTypes(file)) if (type.kind === "extension") this.#addExtension(type);
    for (const imported of file.dependencies) this.add(imported);
  }

  /** Adds the files of a service's messages, one of which usually declares it, and those of its descriptors. */
  addService(service: ServiceDef<object, object>): void {
    for (const { input, output, descriptor } of Object.values(service.methods)) {
      if (descriptor !== undefined) this.add(descriptor().parent.file);
      if (input !== undefined) this.add(input.file);
      if (output !== undefined) this.add(output.file);
    }
  }

  files(): Iterable<DescFile> {
    return this.#files.values();
  }

  byName(name: string): DescFile | undefined {
    return this.#files.get(name);
  }

  /** Returns the file that declares the service, method, message, field, oneof, enum, value or extension of this name. */
  bySymbol(symbol: string): DescFile | undefined {
    return this.#symbols.get(symbol);
  }

  byExtension(extendee: string, number: number): DescFile | undefined {
    return this.#extensions.get(extendee)?.get(number);
  }

  /** Returns the field numbers of the known extensions of a message; `undefined` for an unknown message. */
  extensionNumbers(extendee: string): number[] | undefined {
    const numbers = this.#extensions.get(extendee);
    if (numbers !== undefined) return [...numbers.keys()].sort((a, b) => a - b);
    return this.#symbols.has(extendee) ? [] : undefined;
  }

  /** Encodes a file as a serialized `google.protobuf.FileDescriptorProto`. */
  encode(file: DescFile): Uint8Array {
    const bytes = this.#encoded.get(file) ?? toBinary(FileDescriptorProtoSchema, file.proto);
    this.#encoded.set(file, bytes);
    return bytes;
  }

  #addExtension({ extendee, number, file }: DescExtension): void {
    const numbers = this.#extensions.get(extendee.typeName) ?? new Map<number, DescFile>();
    numbers.set(number, file);
    this.#extensions.set(extendee.typeName, numbers);
  }
}

/** Returns the full names of all symbols that a file declares. */
function symbolsOf(file: DescFile): string[] {
  return [...nestedTypes(file)].flatMap((type) => {
    const { typeName } = type;
    switch (type.kind) {
      case "service":
        return [typeName, ...type.methods.map(({ name }) => `${typeName}.${name}`)];
      case "message":
        return [typeName, ...[...type.fields, ...type.oneofs].map(({ name }) => `${typeName}.${name}`)];
      case "enum": {
        // In protobuf, the values of an enum are siblings of the enum, not its members.
        const scope = type.parent?.typeName ?? file.proto.package;
        return [typeName, ...type.values.map(({ name }) => (scope === "" ? name : `${scope}.${name}`))];
      }
      default:
        return [typeName];
    }
  });
}
