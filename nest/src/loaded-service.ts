/**
 * Services that `@grpc/proto-loader` has loaded. Its functions keep the messages of handlers in the shape that its options choose; JSON
 * and reflection need schemas.
 */
import { type DescMessage, type FileRegistry, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import type { Method, ServiceDef } from "triple-es";
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

/** The schemas of the files of a loaded package, which all its methods share. */
const schemasOf = new WeakMap<readonly Uint8Array[], FileRegistry>();

/** Returns the definition of a service, and the conversions of the messages of its methods. Throws an `Error` without descriptors. */
export function defineService(service: LoadedService): {
  readonly def: ServiceDef<object, object>;
  readonly shapeOf: (method: Method) => MessageShape;
} {
  const [{ path, requestType } = { path: "" }] = Object.values(service);
  const typeName = path.slice(1, path.lastIndexOf("/"));
  const files = requestType?.fileDescriptorProtos;
  const schemas = files && (schemasOf.get(files) ?? createSchemas(files));
  const found = schemas?.getService(typeName);
  if (!files || !schemas || !found) throw new Error(`the service ${typeName} has no descriptors: load its proto file`);
  schemasOf.set(files, schemas);
  const methods = found.methods.map((method) => {
    const { name, methodKind: kind, input, output, localName } = method;
    const descriptor = (): typeof method => method;
    return [localName, { kind, service: typeName, name, path: `/${typeName}/${name}`, input, output, descriptor }];
  });
  return {
    def: { typeName, methods: Object.fromEntries(methods) },
    shapeOf({ name, input, output }) {
      const { requestDeserialize, responseSerialize } = service[name] as LoadedMethod;
      return {
        // protobufjs reads bytes from a Buffer only.
        request: (message) => requestDeserialize(Buffer.from(toBinary(input as DescMessage, message as Message))),
        response: (value) => fromBinary(output as DescMessage, responseSerialize(value)),
      };
    },
  };
}
