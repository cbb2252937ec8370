/**
 * Entry point `triple-es-dubbo/java`: interface methods. It exports the imports of code generated from TypeScript interfaces, for
 * clients and servers, and types for Java's values.
 *
 * @module triple-es-dubbo/java
 */
export type { CallDefaults, CallOptions, HandlerContext, ServiceDef, Transport } from "triple-es";
export { type AttachmentValue, attachments, readAttachments } from "./interface/attachments.ts";
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
} from "./interface/brand.ts";
export { createInterfaceClient } from "./interface/client.ts";
export type { Cost } from "./interface/cost.ts";
export { findException, JavaException, type JavaExceptionOptions } from "./interface/exception.ts";
export { createGenericClient, type GenericCallOptions, type GenericClient } from "./interface/generic/client.ts";
export type { GenericMode } from "./interface/generic/method.ts";
export { addGenericCalls } from "./interface/generic/server.ts";
export { interfacePayload } from "./interface/payload.ts";
export { createProtobufSerialization } from "./interface/protobuf-serialization.ts";
export { jsonSerialization, type Serialization } from "./interface/serialization.ts";
export type {
  InterfaceMethod,
  JavaBuiltIn,
  JavaClass,
  JavaEnum,
  JavaPrimitive,
  JavaType,
  Parameter,
  Signature,
} from "./interface/signature.ts";
export { type TypedValue, typed } from "./interface/typed.ts";
