/** The options of transports that call Dubbo for Java. */
import { assertOneOf } from "triple-es/internal";
import { hessian2 } from "./hessian2/serialization.ts";
import type { Serialization } from "./serialization.ts";

/** Options of a Node transport, as {@link dubboJava} sets them. */
export interface DubboJavaOptions {
  /** The sub-protocol: `grpc` is B, `http-rpc` is A. */
  readonly protocol: "grpc" | "http-rpc";
  /** JSON, over `http-rpc`. */
  readonly codec?: "json";
  /** The bare object, over `http-rpc`. */
  readonly jsonBody?: "object";
  /** True over `http-rpc`: methods have their names in Java. */
  readonly javaNames?: boolean;
  /** Hessian 2, over `grpc`. */
  readonly serializations?: readonly Serialization[];
}

/**
 * Returns the options of a transport that calls Dubbo for Java: `createTransport({ baseUrl, ...dubboJava() })`. With
 * `grpc`, the default, values of interface methods are sent in Hessian 2. With `http-rpc`, messages are bare JSON objects,
 * the only form that Dubbo reads, and methods have their Java names. Throws a `TypeError` for an invalid protocol.
 */
export function dubboJava(protocol: "grpc" | "http-rpc" = "grpc"): DubboJavaOptions {
  assertOneOf("protocol", protocol, ["grpc", "http-rpc"]);
  if (protocol === "grpc") return { protocol, serializations: [hessian2] };
  return { protocol, codec: "json", jsonBody: "object", javaNames: true };
}
