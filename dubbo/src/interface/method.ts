/**
 * Interface methods: methods declared by a TypeScript or Java interface instead of a proto file. They have a signature
 * instead of message schemas, and the message of a call is an array: all arguments of a request, or the single value of a
 * response.
 */
import type { Method, PayloadMethod } from "triple-es";
import type { Signature } from "./signature.ts";

/** An interface method in generated code. */
export interface InterfaceMethod extends PayloadMethod {
  /** The Java types of its parameters and result. */
  readonly signature: Signature;
}

export function isInterfaceMethod(method: Method): method is InterfaceMethod {
  return "signature" in method;
}

/** Returns the signature of a method. Throws a `TypeError` if it is not an interface method. */
export function signatureOf(method: Method): Signature {
  if (isInterfaceMethod(method)) return method.signature;
  throw new TypeError(`${method.path} has no signature: it is not declared by an interface`);
}
