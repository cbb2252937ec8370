/**
 * The services of a proto file in the page: the code that the plugin generates, a server in memory with handlers that the visitor
 * writes, and calls of it.
 */
import {
  create,
  createFileRegistry,
  type DescMethod,
  type DescService,
  type FileRegistry,
  fromJson,
  type JsonValue,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import {
  CodeGeneratorRequestSchema,
  type FileDescriptorProto,
  file_google_protobuf_any,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
  MethodOptions_IdempotencyLevel as Idempotency,
} from "@bufbuild/protobuf/wkt";
import { Code, createClient, createInMemoryTransport, createRouter, RpcError, type ServiceDef } from "triple-es";
import { plugin } from "../../src/plugin/plugin.ts";
import { FORMAT } from "../../src/version.ts";
import { type Recorded, recording } from "./recording.ts";

const WELL_KNOWN = [
  file_google_protobuf_any,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
];

/** The files that the plugin generates from a proto file, by their names. Throws its error. */
export function generate(file: FileDescriptorProto): ReadonlyMap<string, string> {
  const response = plugin.run(
    create(CodeGeneratorRequestSchema, {
      parameter: "target=ts,import_extension=js",
      fileToGenerate: [file.name],
      protoFile: [...WELL_KNOWN.map(({ proto }) => proto).filter(({ name }) => file.dependency.includes(name)), file],
    }),
  );
  if (response.error !== "") throw new Error(response.error);
  return new Map(response.file.map(({ name, content }) => [name, content]));
}

/** The descriptors of a file and of the files that it imports. */
export function registryOf(file: FileDescriptorProto): FileRegistry {
  return createFileRegistry(file, (name) => WELL_KNOWN.find(({ proto }) => proto.name === name));
}

/** The definition of a service, as generated code has it, from its descriptor. */
function definitionOf({ typeName, methods }: DescService): ServiceDef<Calls, object> {
  return {
    typeName,
    methods: Object.fromEntries(
      methods.map((method) => [
        method.localName,
        {
          kind: method.methodKind,
          service: typeName,
          name: method.name,
          path: `/${typeName}/${method.name}`,
          input: method.input,
          output: method.output,
          ...(method.idempotency === Idempotency.NO_SIDE_EFFECTS ? { idempotency: "no_side_effects" } : {}),
        },
      ]),
    ),
    format: Number(FORMAT),
  } as ServiceDef<Calls, object>;
}

/** The methods of a client, by their names in generated code. */
type Calls = Record<string, (request: unknown) => Promise<Message> | AsyncIterable<Message>>;

/** A call of a method of a server in memory. */
export interface PlaygroundCall {
  readonly method: DescMethod;
  /** The text of an object with a handler for each method. */
  readonly handlers: string;
  /** The request in JSON, or an array of requests of a stream. */
  readonly request: string;
  readonly protocol: "grpc" | "http-rpc";
  readonly registry: FileRegistry;
}

/**
 * Calls a method. `onMessage` gets each message in JSON, `onExchange` what goes over the wire. Rejects with the error of the
 * call, of the handlers, or of the JSON.
 */
export async function call(
  { method, handlers, request, protocol, registry }: PlaygroundCall,
  onMessage: (message: JsonValue) => void,
  onExchange: (recorded: Recorded) => void,
): Promise<void> {
  const definition = definitionOf(method.parent);
  // The visitor's own code; the policy of the page lets it load nothing.
  const implementation: unknown = new Function("RpcError", "Code", `return (${handlers}\n);`)(RpcError, Code);
  const router = createRouter().add(definition, implementation as object);
  const codec = protocol === "grpc" ? "proto" : "json";
  const transport = createInMemoryTransport(recording(router, onExchange), { protocol, codec });
  const json: JsonValue = JSON.parse(request);
  const read = (value: JsonValue): Message => fromJson(method.input, value, { registry });
  const isStream = method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming";
  const requests = (Array.isArray(json) ? json : [json]).map(read);
  const input = isStream ? streamOf(requests) : read(json);
  const result = createClient(definition, transport)[method.localName]?.(input);
  const show = (message: Message): void =>
    onMessage(toJson(method.output, message, { registry, alwaysEmitImplicit: true }));
  if (result === undefined) return;
  if (Symbol.asyncIterator in result) for await (const message of result) show(message);
  else show(await result);
}

async function* streamOf(messages: readonly Message[]): AsyncIterable<Message> {
  yield* messages;
}
