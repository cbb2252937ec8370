/**
 * The payload of interface methods: wrapped messages in sub-protocol B (spec: Payload schema of the extended content type);
 * arguments in JSON, a form, multipart, text or XML in sub-protocol A (spec: Payload of sub-protocol A).
 */
import type { Method } from "triple-es";
import type { Payload } from "triple-es/internal";
import { defineSignature } from "./definition.ts";
import { decodeResult, encodePositional } from "./http-rpc/client.ts";
import { PositionalCall } from "./http-rpc/server.ts";
import { withMessages } from "./positional.ts";
import { describeSignature } from "./schema.ts";
import { isInterfaceMethod, signatureOf } from "./signature.ts";
import { parameterNames, pathSuffix } from "./type.ts";
import { decodeResponse, encodeRequest, readException } from "./wrapper/client.ts";
import { WrappedCall } from "./wrapper/server.ts";

const FUNCTIONS: Payload = {
  grpc: { encodeRequest, decodeResponse, readError: readException },
  httpRpc: {
    name: "json",
    encodeRequest: encodePositional,
    decodeResponse: decodeResult,
    // The path of an interface method always has the name in Java, whether or not the option javaNames is set.
    path: ({ path }) => path,
  },
  server: {
    paths: (method) => [overloadPath(method)],
    isOverload,
    isText: (method) => signatureOf(method).result === "java.lang.String",
    bind: (method, implementation) => withMessages(method.kind, implementation as (...values: unknown[]) => unknown),
    openGrpc: (methods, options) => new WrappedCall(methods, options),
    openHttpRpc: (methods, options) => new PositionalCall(methods, options),
    describe: describeSignature,
    define: defineSignature,
  },
};

/** The payload of every interface method. Generated code refers to it in each method. */
export const interfacePayload: object = FUNCTIONS;

/**
 * The payload of a method that shares its path with other methods. In sub-protocol A, Dubbo for Java selects the overload by
 * a suffix of the path.
 */
export const overloadPayload: Payload = {
  ...FUNCTIONS,
  httpRpc: { ...FUNCTIONS.httpRpc, path: overloadPath },
} satisfies Payload;

function overloadPath(method: Method): string {
  return method.path + pathSuffix(signatureOf(method));
}

function isOverload(method: Method, other: Method): boolean {
  if (!isInterfaceMethod(other)) return false;
  return String(parameterNames(signatureOf(method))) !== String(parameterNames(other.signature));
}
