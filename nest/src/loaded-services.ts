/**
 * Services of proto files that are loaded when the program runs, by `@grpc/proto-loader` or a package in its place. The loader's
 * functions keep the messages of handlers in the shape that its options choose. JSON and reflection need schemas.
 */
import { type DescService, type DescMessage, fromBinary, toBinary, type Message } from "@bufbuild/protobuf";
import type { Method, ServiceDef } from "triple-es";
import { createSchemas } from "./descriptors.ts";

/** A service, the names by which decorators may refer to it, and the conversions of its messages. */
export interface ServedService {
  readonly def: ServiceDef<object, object>;
  readonly names: readonly string[];
  /** The conversions of a method's messages. Default: handlers get and return messages of protobuf-es. */
  readonly shapeOf?: (method: Method) => MessageShape;
}

/** Conversions of messages of protobuf-es to and from those of handlers. */
export interface MessageShape {
  readonly request: (message: object) => object;
  readonly response: (value: unknown) => object;
}

/** The options of Nest's gRPC transport that choose services. */
export interface ProtoOptions {
  /** The packages whose services are served, those of packages inside them included. */
  readonly package: string | readonly string[];
  /** The proto files. Default: those of `packageDefinition`. */
  readonly protoPath?: string | readonly string[] | undefined;
  /** Proto files that the loader has loaded. Default: those of `protoPath`. */
  readonly packageDefinition?: object | undefined;
  /** The package that loads proto files. Default: `@grpc/proto-loader`. */
  readonly protoLoader?: string | undefined;
  /** The options of the loader, which choose the shape of messages. Default: its defaults. */
  readonly loader?: object | undefined;
}

/** A method as the loader describes it. */
interface LoadedMethod {
  readonly requestType: { readonly fileDescriptorProtos: readonly Uint8Array[] };
  readonly requestDeserialize: (bytes: Uint8Array) => object;
  readonly responseSerialize: (value: unknown) => Uint8Array;
}
type LoadedService = Readonly<Record<string, LoadedMethod>>;

/** Loads the services of packages. Throws an `Error` for proto files that cannot be loaded, or a package without services. */
export async function loadServices(options: ProtoOptions): Promise<ServedService[]> {
  const { protoPath, protoLoader = "@grpc/proto-loader", loader } = options;
  const loaded: Readonly<Record<string, object>> =
    options.packageDefinition ?? (await import(protoLoader)).loadSync(protoPath, loader);
  // Definitions of messages and enums have a format.
  const services = Object.entries(loaded).filter(
    (entry): entry is [string, LoadedService] => typeof (entry[1] as { format?: unknown }).format !== "string",
  );
  const methods = services.flatMap(([, service]) => Object.values(service));
  const schemas = createSchemas([...new Set(methods.flatMap(({ requestType }) => requestType.fileDescriptorProtos))]);
  return [options.package].flat().flatMap((name) => {
    const found = services.filter(([typeName]) => typeName.startsWith(`${name}.`));
    if (found.length === 0) throw new Error(`the proto files have no services of the package ${name}`);
    return found.map(([typeName, service]) => ({
      def: serviceDef(schemas.getService(typeName) as DescService),
      names: [typeName.slice(name.length + 1), typeName],
      shapeOf: (method) => shapeOf(method, service[method.name] as LoadedMethod),
    }));
  });
}

function serviceDef({ typeName, methods }: DescService): ServiceDef<object, object> {
  return {
    typeName,
    methods: Object.fromEntries(
      methods.map((method) => {
        const { name, methodKind: kind, input, output } = method;
        const path = `/${typeName}/${name}`;
        return [method.localName, { kind, service: typeName, name, path, input, output, descriptor: () => method }];
      }),
    ),
  };
}

function shapeOf({ input, output }: Method, loaded: LoadedMethod): MessageShape {
  return {
    // The loader of protobufjs reads bytes from a Buffer only.
    request: (message) => loaded.requestDeserialize(Buffer.from(toBinary(input as DescMessage, message as Message))),
    response: (value) => fromBinary(output as DescMessage, loaded.responseSerialize(value)),
  };
}
