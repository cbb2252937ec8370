/**
 * Interface methods: methods declared by an interface of TypeScript or Java instead of a proto file. They have a signature in
 * place of schemas, and the message of a call is an array: all arguments of a request, the one value of a response.
 */
import type { Method, PayloadMethod } from "../call/method.ts";
import type { Signature } from "./signature.ts";

/** An interface method, as generated code declares it. */
export interface InterfaceMethod extends PayloadMethod {
  readonly signature: Signature;
}

export function isInterfaceMethod(method: Method): method is InterfaceMethod {
  return "signature" in method;
}

/** The signature of a method. Throws a `TypeError` for one that is no interface method. */
export function signatureOf(method: Method): Signature {
  if (isInterfaceMethod(method)) return method.signature;
  throw new TypeError(`${method.path} has no signature: it is not declared by an interface`);
}
