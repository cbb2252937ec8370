/** Reads the fields that classes declare. */
import { Node, type TypeNode } from "ts-morph";
import type { Problems } from "../model/diagnostics.ts";
import { isJavaName } from "../model/java-name.ts";
import { boxed, type Field } from "../model/java-type.ts";
import { commentOf } from "./tags.ts";
import type { TypeContext, TypeReader } from "./type-reader.ts";

/** Reads the fields of a class without those that it inherits. */
export function ownFields(declaration: Node, place: TypeContext, types: TypeReader, problems: Problems): Field[] {
  const node = Node.isTypeAliasDeclaration(declaration) ? declaration.getTypeNode() : declaration;
  if (!(Node.isInterfaceDeclaration(node) || Node.isClassDeclaration(node) || Node.isTypeLiteral(node))) {
    problems.error(declaration, "@class belongs to an interface, a class or a type of the form { … }");
    return [];
  }
  return node.getMembers().flatMap((member) => readField(member, place, types, problems) ?? []);
}

function readField(member: Node, place: TypeContext, types: TypeReader, problems: Problems): Field | undefined {
  const isSignature = Node.isPropertySignature(member);
  if (!isSignature && !Node.isPropertyDeclaration(member)) {
    problems.error(member, "a Java class of a contract is data: it has fields and nothing else");
    return undefined;
  }
  if (!isSignature && (member.isStatic() || member.getScope() !== "public")) {
    problems.error(member, "fields must be public and not static, because they are sent");
    return undefined;
  }
  const nameNode = member.getNameNode();
  const name = Node.isIdentifier(nameNode)
    ? nameNode.getText()
    : Node.isStringLiteral(nameNode)
      ? nameNode.getLiteralValue()
      : "";
  if (!isJavaName(name) || name === "__proto__") {
    problems.error(nameNode, `Java cannot have a field called ${nameNode.getText()}`);
    return undefined;
  }
  const typeNode: TypeNode | undefined = member.getTypeNode();
  if (typeNode === undefined) {
    problems.error(member, `${name} needs a type`);
    return undefined;
  }
  const { java, hasNull } = types.read(typeNode, place);
  const isOptional = member.hasQuestionToken();
  if (isOptional && !hasNull) problems.warn(member, `an omitted ${name} arrives as null: join null to its type`);
  return { name, comment: commentOf(member), java: isOptional ? boxed(java) : java };
}
