/**
 * gRPC's server reflection protocol, by which tools such as grpcurl and Postman read the schema of a server. Every client
 * that can call the service can read the schema.
 */
import type { DescFile } from "@bufbuild/protobuf";
import type { ServiceDef } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import type { ServerReflectionRequest } from "../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflectionDef as ReflectionDef } from "../gen/grpc/reflection/v1/reflection_triple.ts";
import type { ServerReflectionRequest as AlphaRequest } from "../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { ServerReflectionDef as AlphaReflectionDef } from "../gen/grpc/reflection/v1alpha/reflection_triple.ts";
import type { Router, ServiceOptions } from "../server/router.ts";
import { FileIndex } from "./file-index.ts";

export interface ReflectionOptions extends ServiceOptions {
  /**
   * Files in addition to those of the services' messages: files whose services use only messages of other files, or files
   * with extensions. Generated code exports them under names such as `file_greet_v1_greet`. Default: none.
   */
  readonly files?: readonly DescFile[] | undefined;
}

/** Maximum number of requests on one stream. It bounds the duration of a stream. */
const MAX_REQUESTS = 1000;

/**
 * Adds the services `grpc.reflection.v1.ServerReflection` and its predecessor `v1alpha` to a router or server. They
 * describe every service that comes from a proto file, including services that are added later.
 *
 * Throws a `TypeError` if the proto file of a service cannot be found. In that case, pass the file in the option `files`.
 */
export function addReflection(router: Router, options: ReflectionOptions = {}): void {
  const { files = [], ...serviceOptions } = options;
  const schema = new RouterSchema(router, files);
  const missing = schema.services().filter((name) => schema.files.bySymbol(name) === undefined);
  if (missing.length > 0) throw new TypeError(missingText(missing));
  router.add(ReflectionDef, { serverReflectionInfo: (requests) => answerEach(requests, schema) }, serviceOptions);
  router.add(AlphaReflectionDef, { serverReflectionInfo: (requests) => answerEach(requests, schema) }, serviceOptions);
}

function missingText(services: readonly string[]): string {
  return (
    `reflection cannot find the proto file that declares ${services.join(", ")}, because the messages of its methods ` +
    "are declared in other files; pass the file in the option files, as in addReflection(server, { files: [file_…] })"
  );
}

/** The proto files and services of a router, updated when services are added. */
class RouterSchema {
  readonly files = new FileIndex();
  readonly #router: Router;
  #read = 0;

  constructor(router: Router, files: readonly DescFile[]) {
    this.#router = router;
    for (const file of files) this.files.add(file);
    this.refresh();
  }

  /** Adds the services that the router has received since the last call. */
  refresh(): void {
    const { services } = this.#router;
    for (const { service } of services.slice(this.#read)) if (hasIdl(service)) this.files.addService(service);
    this.#read = services.length;
  }

  /** Returns the full names of the services, sorted. */
  services(): string[] {
    const described = this.#router.services.filter(({ service }) => hasIdl(service));
    return [...new Set(described.map(({ service }) => service.typeName))].sort();
  }
}

/** Reports whether a service comes from a proto file. Other services have no schema. */
function hasIdl({ methods }: ServiceDef<object, object>): boolean {
  return Object.values(methods).every(({ payload }) => payload === undefined);
}

/** The requests of both versions of the service, which differ only in the names of their types. */
type Request = ServerReflectionRequest | AlphaRequest;

type Answer =
  | { case: "fileDescriptorResponse"; value: { fileDescriptorProto: Uint8Array[] } }
  | { case: "allExtensionNumbersResponse"; value: { baseTypeName: string; extensionNumber: number[] } }
  | { case: "listServicesResponse"; value: { service: { name: string }[] } }
  | { case: "errorResponse"; value: { errorCode: number; errorMessage: string } };

async function* answerEach<R extends Request>(requests: AsyncIterable<R>, schema: RouterSchema) {
  const sent = new Set<DescFile>();
  let count = 0;
  for await (const request of requests) {
    count += 1;
    if (count > MAX_REQUESTS) {
      const problem = `a reflection stream takes at most ${MAX_REQUESTS} requests; open another`;
      throw new RpcError(Code.ResourceExhausted, problem);
    }
    schema.refresh();
    yield { validHost: request.host, originalRequest: request, messageResponse: answer(request, schema, sent) };
  }
}

function answer({ messageRequest: asked }: Request, schema: RouterSchema, sent: Set<DescFile>): Answer {
  const { files } = schema;
  switch (asked.case) {
    case "listServices":
      return { case: "listServicesResponse", value: { service: schema.services().map((name) => ({ name })) } };
    case "fileByFilename":
      return fileAnswer(files, files.byName(asked.value), sent, `there is no file "${asked.value}"`);
    case "fileContainingSymbol": {
      const unknown = `there is no symbol "${asked.value}"`;
      const reason = schema.services().includes(asked.value) ? missingText([asked.value]) : unknown;
      return fileAnswer(files, files.bySymbol(asked.value), sent, reason);
    }
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = asked.value;
      const file = files.byExtension(containingType, extensionNumber);
      return fileAnswer(files, file, sent, `"${containingType}" has no extension ${extensionNumber}`);
    }
    case "allExtensionNumbersOfType": {
      const extensionNumber = files.extensionNumbers(asked.value);
      if (extensionNumber === undefined) return errorAnswer(Code.NotFound, `there is no message "${asked.value}"`);
      return { case: "allExtensionNumbersResponse", value: { baseTypeName: asked.value, extensionNumber } };
    }
    default:
      return errorAnswer(Code.InvalidArgument, "the request asks for nothing: message_request is not set");
  }
}

/** Answers with a file and its imports, without imports that were already sent on the stream. */
function fileAnswer(files: FileIndex, file: DescFile | undefined, sent: Set<DescFile>, unknown: string): Answer {
  if (file === undefined) return errorAnswer(Code.NotFound, unknown);
  const wanted = new Set([file]);
  // Iteration of a set includes elements that are added during the loop.
  for (const { dependencies } of wanted) {
    for (const imported of dependencies) if (!sent.has(imported)) wanted.add(imported);
  }
  for (const one of wanted) sent.add(one);
  const fileDescriptorProto = [...wanted].map((one) => files.encode(one));
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto } };
}

function errorAnswer(errorCode: Code, errorMessage: string): Answer {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}
