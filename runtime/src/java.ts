/**
 * Entry point `triple-es/java`: interface methods. It exports the imports of code generated from TypeScript interfaces, for
 * clients and servers, and types for Java's values.
 *
 * @module triple-es/java
 */
export type { ServiceDef } from "./call/call.ts";
export type { CallDefaults, CallOptions, Transport } from "./client/client.ts";
export { type AttachmentValue, attachments, readAttachments } from "./java/attachments.ts";
export type {
  BigDecimal,
  BigInteger,
  byte,
  char,
  double,
  float,
  int,
  JavaArray,
  long,
  short,
} from "./java/brand.ts";
export { createInterfaceClient } from "./java/client.ts";
export type { Cost } from "./java/cost.ts";
export { findException, JavaException, type JavaExceptionOptions } from "./java/exception.ts";
export { jsonSerialization } from "./java/json-serialization.ts";
export type { InterfaceMethod } from "./java/method.ts";
export { interfacePayload } from "./java/payload.ts";
export { createProtobufSerialization } from "./java/protobuf-serialization.ts";
export type { Serialization } from "./java/serialization.ts";
export type {
  JavaBuiltIn,
  JavaClass,
  JavaEnum,
  JavaPrimitive,
  JavaType,
  Parameter,
  Signature,
} from "./java/signature.ts";
export { type TypedValue, typed } from "./java/typed.ts";
export type { HandlerContext } from "./server/handler.ts";
