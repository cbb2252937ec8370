/** Descriptors of protobuf-es from the reflection objects of protobufjs, with the comments of the proto file. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type DescriptorProtoSchema,
  type EnumDescriptorProtoSchema,
  type FieldDescriptorProtoSchema,
  FieldDescriptorProto_Type as FieldType,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  MethodOptions_IdempotencyLevel as Idempotency,
  FieldDescriptorProto_Label as Label,
  type MethodDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import protobuf from "protobufjs";

/** Numbers of fields that protobuf reserves for its implementation. */
const RESERVED = [19_000, 19_999] as const;
const MAX_NUMBER = 536_870_911;

/** The options that are read; others have no meaning for the generated code, or need extensions. */
const OPTIONS = ["deprecated", "packed", "json_name", "proto3_optional", "allow_alias", "idempotency_level", "jstype"];

/** An error of the meaning of a proto file, at the first place with a name. */
export class NameError extends Error {
  readonly at: string;

  constructor(message: string, at: string) {
    super(message);
    this.at = at;
  }
}

/** The descriptor of a file whose package is the namespace. Throws a {@link NameError}. */
export function fileOf(
  name: string,
  pkg: string | undefined,
  dependency: string[],
  space: protobuf.NamespaceBase,
): FileDescriptorProto {
  const all = space.nestedArray;
  const types = all.filter((one) => one instanceof protobuf.Type);
  const services = all.filter((one) => one instanceof protobuf.Service);
  const location = (path: number[], { comment }: protobuf.ReflectionObject) =>
    comment == null ? [] : [{ path, leadingComments: comment.replaceAll(/^/gm, " "), span: [0, 0, 0] }];
  return create(FileDescriptorProtoSchema, {
    name,
    ...(pkg === undefined ? {} : { package: pkg }),
    syntax: "proto3",
    dependency,
    messageType: types.map(messageOf),
    enumType: all.filter((one) => one instanceof protobuf.Enum).map(enumOf),
    service: services.map((one) => ({
      name: one.name,
      method: one.methodsArray.map(methodOf),
      options: deprecation(one),
    })),
    // The numbers of a path are those of the fields of the descriptor's messages: 4 message_type, 6 service, 2 field or method.
    sourceCodeInfo: {
      location: [
        ...types.flatMap((type, i) => [
          ...location([4, i], type),
          ...type.fieldsArray.flatMap((field, j) => location([4, i, 2, j], field)),
        ]),
        ...services.flatMap((service, i) => [
          ...location([6, i], service),
          ...service.methodsArray.flatMap((method, j) => location([6, i, 2, j], method)),
        ]),
      ],
    },
  });
}

function messageOf(type: protobuf.Type): MessageInitShape<typeof DescriptorProtoSchema> {
  const isSynthetic = (one: protobuf.OneOf): boolean => one.fieldsArray[0]?.options?.["proto3_optional"] === true;
  // Those that the compiler makes of the label `optional` are the last ones.
  const oneofs = type.oneofsArray.toSorted((a, b) => Number(isSynthetic(a)) - Number(isSynthetic(b)));
  const maps = type.fieldsArray.filter((field) => field instanceof protobuf.MapField);
  const nested = type.nestedArray;
  return {
    name: type.name,
    field: type.fieldsArray.map((field) => fieldOf(field, oneofs)),
    oneofDecl: oneofs.map(({ name }) => ({ name })),
    nestedType: [...maps.map(entryOf), ...nested.filter((one) => one instanceof protobuf.Type).map(messageOf)],
    enumType: nested.filter((one) => one instanceof protobuf.Enum).map(enumOf),
    options: deprecation(type),
  };
}

function fieldOf(field: protobuf.Field, oneofs: protobuf.OneOf[]): MessageInitShape<typeof FieldDescriptorProtoSchema> {
  const { id, name, options = {}, partOf } = field;
  if (id < 1 || id > MAX_NUMBER || (id >= RESERVED[0] && id <= RESERVED[1])) {
    throw new NameError(
      `${id} is not a number of a field: 1 to ${MAX_NUMBER} without ${RESERVED.join(" to ")}`,
      String(id),
    );
  }
  return {
    name,
    number: id,
    label: field.map || field.repeated ? Label.REPEATED : Label.OPTIONAL,
    jsonName: options["json_name"] ?? name.replaceAll(/_+(.?)/g, (_, letter: string) => letter.toUpperCase()),
    ...(field.map
      ? { type: FieldType.MESSAGE, typeName: `${field.parent?.fullName}.${entryNameOf(field)}` }
      : typeOf(field)),
    ...(partOf == null ? {} : { oneofIndex: oneofs.indexOf(partOf) }),
    proto3Optional: options["proto3_optional"] === true,
    options: { ...deprecation(field), ...(options["packed"] === undefined ? {} : { packed: options["packed"] }) },
  };
}

/** The entry of a map: a message with a key and a value. */
function entryOf(field: protobuf.MapField): MessageInitShape<typeof DescriptorProtoSchema> {
  const one = (name: string, number: number) => ({ name, number, label: Label.OPTIONAL, jsonName: name });
  return {
    name: entryNameOf(field),
    field: [
      { ...one("key", 1), type: scalarOf(field.keyType) },
      { ...one("value", 2), ...typeOf(field) },
    ],
    options: { mapEntry: true },
  };
}

function entryNameOf({ name }: protobuf.FieldBase): string {
  return `${`_${name}`.replaceAll(/_+(.?)/g, (_, letter: string) => letter.toUpperCase())}Entry`;
}

function typeOf({ type, parent }: protobuf.FieldBase): { type: FieldType; typeName?: string } {
  if (type in protobuf.types.basic) return { type: scalarOf(type) };
  const found = resolve(type, parent);
  return { type: found instanceof protobuf.Enum ? FieldType.ENUM : FieldType.MESSAGE, typeName: found.fullName };
}

/**
 * Finds a type by the rule of protobuf: the innermost scope that has the name. The library also searches the types inside of each
 * scope.
 */
function resolve(name: string, scope: protobuf.NamespaceBase | null): protobuf.Type | protobuf.Enum {
  const parts = name.split(".");
  const isAbsolute = parts[0] === "";
  for (let at = isAbsolute ? (scope?.root ?? null) : scope; at !== null; at = at.parent) {
    let found: protobuf.ReflectionObject | null = at;
    for (const part of isAbsolute ? parts.slice(1) : parts) {
      found = found !== null && "get" in found ? (found as protobuf.NamespaceBase).get(part) : null;
    }
    if (found instanceof protobuf.Type || found instanceof protobuf.Enum) return found;
  }
  throw new NameError(`there is no type ${name}`, name);
}

function scalarOf(type: string): FieldType {
  return FieldType[type.toUpperCase() as keyof typeof FieldType];
}

function enumOf(one: protobuf.Enum): MessageInitShape<typeof EnumDescriptorProtoSchema> {
  const value = Object.entries(one.values).map(([name, number]) => ({ name, number }));
  if (value[0]?.number !== 0) throw new NameError(`the first value of the enum ${one.name} must be 0`, one.name);
  return { name: one.name, value, options: deprecation(one) };
}

function methodOf(method: protobuf.Method): MessageInitShape<typeof MethodDescriptorProtoSchema> {
  const level = method.options?.["idempotency_level"] as keyof typeof Idempotency | undefined;
  return {
    name: method.name,
    inputType: resolve(method.requestType, method.parent).fullName,
    outputType: resolve(method.responseType, method.parent).fullName,
    clientStreaming: method.requestStream === true,
    serverStreaming: method.responseStream === true,
    options: { ...deprecation(method), ...(level === undefined ? {} : { idempotencyLevel: Idempotency[level] }) },
  };
}

/** The option `deprecated` of an element, which must not have options that the playground does not know. */
function deprecation({ name, options = {} }: protobuf.ReflectionObject): { deprecated?: boolean } {
  const unknown = Object.keys(options).find((option) => !OPTIONS.includes(option) && !option.startsWith("features."));
  if (unknown !== undefined) throw new NameError(`the playground does not know the option ${unknown}`, name);
  return options["deprecated"] === true ? { deprecated: true } : {};
}
