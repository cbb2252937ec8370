/**
 * Services that `@grpc/proto-loader` has loaded. Its functions keep the messages of handlers in the shape that its options choose; JSON
 * and reflection need schemas.
 */
import { type DescMessage, type FileRegistry, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { Code, type ErrorHook, type Method, RpcError, type ServiceDef } from "triple-es";
import { callHook } from "triple-es/internal";
import type { MessageShape } from "./call.ts";
import { createSchemas } from "./descriptors.ts";

/** A method as the loader describes it. */
interface LoadedMethod {
  readonly path: string;
  readonly requestType?: { readonly fileDescriptorProtos?: readonly Uint8Array[] };
  readonly requestDeserialize: (bytes: Uint8Array) => object;
  readonly responseSerialize: (value: unknown) => Uint8Array;
}

/** A service as the loader describes it. */
export type LoadedService = Readonly<Record<string, LoadedMethod>>;
export type Definition = ServiceDef<object, object>;
/** Returns the conversions of the messages of a method. */
export type ShapeOf = (method: Method) => MessageShape;

/** The schemas of the files of a loaded package, which all its methods share. */
const schemasOf = new WeakMap<readonly Uint8Array[], FileRegistry>();

/** Returns the definition of a service, and the shapes of its messages. Throws an `Error` for a service without descriptors. */
export function defineService(service: LoadedService, onError: ErrorHook): [Definition, ShapeOf] {
  const [{ path, requestType } = { path: "" }] = Object.values(service);
  const typeName = path.slice(1, path.lastIndexOf("/"));
  const files = requestType?.fileDescriptorProtos;
  if (files === undefined) throw new Error(`the service ${typeName} has no descriptors: load its proto file`);
  const schemas = schemasOf.get(files) ?? createSchemas(files);
  schemasOf.set(files, schemas);
  const methods = schemas.getService(typeName)?.methods.map((method) => {
    const { name, methodKind: kind, input, output } = method;
    const own = { kind, service: typeName, name, path: `/${typeName}/${name}`, input, output };
    return [method.localName, { ...own, descriptor: () => method }];
  });
  const shapeOf: ShapeOf = ({ name, path, input, output }) => {
    const { requestDeserialize, responseSerialize } = service[name] as LoadedMethod;
    return {
      // protobufjs reads bytes from a Buffer only.
      request: (message) => requestDeserialize(Buffer.from(toBinary(input as DescMessage, message as Message))),
      response(value) {
        try {
          return fromBinary(output as DescMessage, responseSerialize(value));
        } catch (cause) {
          callHook("onError", () => onError(cause, path));
          throw new RpcError(Code.Internal, "internal server error", { cause });
        }
      },
    };
  };
  return [{ typeName, methods: Object.fromEntries(methods ?? []) }, shapeOf];
}
