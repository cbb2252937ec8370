/**
 * The door for services without IDL: what code generated from TypeScript interfaces needs, on either side, and the names
 * of Java's types.
 */
export type { ServiceDef } from "./call/call.ts";
export type { CallDefaults, CallOptions, Transport } from "./client/client.ts";
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
export { createInterfaceClient, type InterfaceMethod, javaMessage } from "./java/client.ts";
export type { Cost } from "./java/cost.ts";
export { findException, JavaException, type JavaExceptionOptions } from "./java/exception.ts";
export { jsonSerialization } from "./java/json-serialization.ts";
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
export { typed } from "./java/typed.ts";
export type { HandlerContext } from "./server/handler.ts";
