/**
 * Generic calls of Dubbo: calls of a service without its types. The method `$invoke`, which every service has, takes the name
 * of the called method, the names of its parameter types, and the arguments as plain data.
 */
import { JavaException } from "../exception.ts";
import { interfacePayload } from "../payload.ts";
import type { InterfaceMethod, Signature } from "../signature.ts";

/** The header with the form of arguments and result: a {@link GenericMode}, by default `true`. */
export const GENERIC = "generic";

/**
 * The form of arguments and result. With `true`, they are values, in which an object is a map of its fields with its class
 * under the key `class`. With `protobuf-json`, the only argument and the result are texts: messages in JSON.
 */
export type GenericMode = "true" | "protobuf-json";

const SIGNATURE: Signature = {
  parameters: [
    { name: "method", type: "java.lang.String" },
    { name: "types", type: { array: "java.lang.String" } },
    { name: "args", type: { array: "java.lang.Object" } },
  ],
  result: "java.lang.Object",
};

/** Returns the method `$invoke` of a service. */
export function invokeOf(service: string): InterfaceMethod {
  const name = "$invoke";
  return { kind: "unary", service, name, path: `/${service}/${name}`, payload: interfacePayload, signature: SIGNATURE };
}

const GENERIC_EXCEPTION = "org.apache.dubbo.rpc.service.GenericException";
/** Dubbo for Java sends its subclass for compatibility with Dubbo 2, if that is there. */
const GENERIC_EXCEPTIONS: readonly unknown[] = [GENERIC_EXCEPTION, "com.alibaba.dubbo.rpc.service.GenericException"];

/** Wraps an exception in the one that generic consumers have: they need not have its class. */
export function toGenericException(exception: JavaException): JavaException {
  const { className, detailMessage, code, headers, trailers } = exception;
  const fields = { exceptionClass: className, exceptionMessage: detailMessage };
  const text = detailMessage === null ? className : `${className}: ${detailMessage}`;
  return new JavaException(GENERIC_EXCEPTION, text, { fields, code, headers, trailers });
}

/** Returns the exception that a generic one wraps. Any other error is returned unchanged. */
export function fromGenericException(error: unknown): unknown {
  if (!(error instanceof JavaException) || !GENERIC_EXCEPTIONS.includes(error.className)) return error;
  const { exceptionClass, exceptionMessage: text } = error.fields;
  if (typeof exceptionClass !== "string") return error;
  const { trace, code, headers, trailers } = error;
  return new JavaException(exceptionClass, typeof text === "string" ? text : null, { trace, code, headers, trailers });
}
