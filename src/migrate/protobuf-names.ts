/** Names in proto files, of which google-protobuf changes the case: `orderId` is `orderid`, and `Open` is `OPEN`. */
import { ts } from "ts-morph";
import { bareName, type Generated, generatedBy, isWellKnown, packageOf } from "./generated.ts";
import type { Migration } from "./migration.ts";
import { type ProtoField, plainName } from "./proto-files.ts";

/** Returns the field of a message, in any case, if its proto file is in the project. */
export function protoField(of: Generated, message: string, name: string, migration: Migration): ProtoField | undefined {
  if (isWellKnown(of)) return undefined;
  return migration.protos.message(packageOf(of.declaration), message)?.get(plainName(name));
}

/** The name of a member of an enum in protobuf-es. */
export function enumMember(of: Generated, migration: Migration): string {
  const owner = of.declaration.parent as ts.EnumDeclaration | ts.InterfaceDeclaration;
  const bare = bareName(of.name, owner);
  const declared = generatedBy(owner)?.name ?? "";
  // ts-protoc-gen declares the interface `StatusMap`.
  const name = ts.isInterfaceDeclaration(owner) ? declared.replace(/Map$/, "") : declared;
  const values = isWellKnown(of) ? undefined : migration.protos.enum(packageOf(owner), name);
  const own = values?.find((one) => one.toUpperCase() === of.name) ?? bare;
  return own.slice(own.length - bare.length);
}
