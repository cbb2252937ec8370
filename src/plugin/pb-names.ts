/** The names that protoc-gen-es exports for a proto file: those of messages, enums, schemas and services. */
import type { DescEnum, DescFile, DescMessage, DescService } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { safeIdentifier } from "@bufbuild/protoplugin";
import { memo } from "../print/memoize.ts";

/** The type and the schema of a message or enum, and the module to import both from. */
export interface PbType {
  readonly shape: string;
  readonly schema: string;
  /** A package, or a path under the output folder that begins with `./`. */
  readonly from: string;
}

export interface PbNames {
  /** Returns all names that the module of a proto file exports. */
  exports(file: DescFile): ReadonlySet<string>;
  type(type: DescMessage | DescEnum): PbType;
  /** Returns the name of a service's descriptor, and the module to import it from. */
  service(service: DescService): Pick<PbType, "schema" | "from">;
}

interface PbModule {
  readonly names: ReadonlySet<string>;
  readonly types: ReadonlyMap<DescMessage | DescEnum, PbType>;
  readonly services: ReadonlyMap<DescService, string>;
  readonly from: string;
}

/**
 * Creates a lookup that reads each proto file once. The plugin kit's own lookup computes all names of a file on each
 * call. `from` returns the module to import the descriptors of a file from.
 */
export function createPbNames(from: (file: DescFile) => string): PbNames {
  const moduleOf = memo((file: DescFile) => nameModule(file, from(file)));
  return {
    exports: (file) => moduleOf(file).names,
    type: (type) => {
      const found = moduleOf(type.file).types.get(type);
      if (!found) {
        throw new Error(`${type} is missing from ${type.file}`);
      }
      return found;
    },
    service: (service) => {
      const { services, from } = moduleOf(service.file);
      const schema = services.get(service);
      if (schema === undefined) throw new Error(`${service} is missing from ${service.file}`);
      return { schema, from };
    },
  };
}

/**
 * Computes the names of all descriptors of a file, by the rules and in the order of protoc-gen-es: types first, then
 * schemas and services. A taken name gets the suffix `$`, then `$1`, `$2` and so on.
 */
function nameModule(file: DescFile, from: string): PbModule {
  const names = new Set<string>();
  const claim = (ideal: string): string => {
    for (let i = 0; ; i++) {
      const salt = i === 0 ? "" : i === 1 ? "$" : `$${i - 1}`;
      const name = safeIdentifier(ideal + salt);
      if (!names.has(name)) {
        names.add(name);
        return name;
      }
    }
  };
  const all = [...nestedTypes(file)];
  const shapes = new Map<DescMessage | DescEnum, string>();
  for (const type of all) {
    if (type.kind === "message" || type.kind === "enum") {
      shapes.set(type, claim(flatName(type)));
    }
  }
  claim(`file_${file.name.replace(/[^a-zA-Z0-9_]+/g, "_")}`);
  const types = new Map<DescMessage | DescEnum, PbType>();
  const services = new Map<DescService, string>();
  for (const type of all) {
    const flat = flatName(type);
    if (type.kind === "message" || type.kind === "enum") {
      types.set(type, { shape: shapes.get(type) ?? flat, schema: claim(`${flat}Schema`), from });
    } else {
      const name = claim(flat);
      if (type.kind === "service") services.set(type, name);
    }
  }
  return { names, types, services, from };
}

/** Returns the name of a type without its package: `Outer_Inner` for `my.package.Outer.Inner`. */
export function flatName({ file, typeName }: { readonly file: DescFile; readonly typeName: string }): string {
  const prefix = file.proto.package;
  return typeName.slice(prefix === "" ? 0 : prefix.length + 1).replaceAll(".", "_");
}
