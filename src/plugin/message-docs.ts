/** Comments of messages, enums, fields and oneofs, for types that are written out with their fields. */
import type { DescEnum, DescField, DescMessage, DescOneof } from "@bufbuild/protobuf";
import { DescriptorProtoSchema, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { describe } from "../print/jsdoc.ts";
import type { SourcePath, SourceText } from "./comments.ts";

const { messageType, enumType: fileEnumType } = FileDescriptorProtoSchema.field;
const { nestedType, enumType, field, oneofDecl } = DescriptorProtoSchema.field;

/** Returns the JSDoc block of a message or enum. */
export function typeDocs(type: DescMessage | DescEnum, text: SourceText): string {
  return describe({
    origin: String(type),
    comment: text.comment(typePath(type)),
    deprecated: type.deprecated || type.file.deprecated,
  });
}

/** Returns a function that prints the JSDoc block of a member of the message. */
export function fieldDocs(
  message: DescMessage,
  text: SourceText,
): (member: DescField | DescOneof, indent: string) => string {
  const path = typePath(message);
  const fieldIndexes = new Map(message.fields.map((field, index) => [field.name, index]));
  const oneofIndexes = new Map(message.oneofs.map((oneof, index) => [oneof.name, index]));
  return (member, indent) => {
    const place =
      member.kind === "field"
        ? [field.number, fieldIndexes.get(member.name) ?? -1]
        : [oneofDecl.number, oneofIndexes.get(member.name) ?? -1];
    return describe(
      { origin: String(member), comment: text.comment([...path, ...place]), deprecated: member.deprecated },
      indent,
    );
  };
}

function typePath(type: DescMessage | DescEnum): SourcePath {
  const { parent, file } = type;
  if (type.kind === "message") {
    return parent
      ? [...typePath(parent), nestedType.number, parent.proto.nestedType.indexOf(type.proto)]
      : [messageType.number, file.proto.messageType.indexOf(type.proto)];
  }
  return parent
    ? [...typePath(parent), enumType.number, parent.proto.enumType.indexOf(type.proto)]
    : [fileEnumType.number, file.proto.enumType.indexOf(type.proto)];
}
