/** OpenAPI documents of contracts. The runtime describes the calls, as it does for services of proto files. */
import { dirname, relative } from "node:path";
import { buildDocument } from "../../../runtime/src/openapi/document.ts";
import type { MessageSchemas, Payload, ServerPayload, SharedSchemas } from "../../../runtime/src/protocol/payload.ts";
import type { OutputFile } from "../../print/file-head.ts";
import { version } from "../../version.ts";
import { descriptionOf, type JsonSchema, jsonSchema } from "./json-schema.ts";
import type { ContractMethod, ContractService, MessageType, NamedType, TypeScriptContract } from "./wire-type.ts";

/** Returns the document of a contract's services. */
export function contractDocument({ file, services }: TypeScriptContract, path: string, out: string): OutputFile {
  const [only] = services.length === 1 ? services : [];
  const { openapi, ...document } = buildDocument(
    services.map((service) => ({
      typeName: service.wireName,
      methods: service.methods.map((method) => describedMethod(method, service)),
      selectors: [],
      routes: [],
    })),
    { info: { ...(only && { title: only.wireName }), ...(only && descriptionOf(only.comment)) } as never },
    [],
  );
  const source = relative(dirname(`${out}/${path}`), file).replaceAll("\\", "/");
  const head = { openapi, "x-generated-by": `triple-es contract ${version}`, "x-generated-from": source };
  return { path, text: `${JSON.stringify({ ...head, ...document }, undefined, 2)}\n` };
}

/** Returns a method as the runtime describes it. */
function describedMethod(method: ContractMethod, { wireName }: ContractService): never {
  const { name, kind, deprecated, comment, request, response } = method;
  const describe = (_method: unknown, shared: SharedSchemas): MessageSchemas => ({
    request: schemaOf(request, shared) as never,
    response: schemaOf(response, shared) as never,
    ...(comment.length > 0 && { note: comment.join("\n") }),
  });
  const server = { codec: "json", describe } satisfies Partial<ServerPayload>;
  const payload = { server: server as unknown as ServerPayload } satisfies Partial<Payload>;
  return {
    kind,
    service: wireName,
    name,
    path: `/${wireName}/${name}`,
    payload,
    ...(deprecated && { deprecated }),
  } as never;
}

function schemaOf(message: MessageType | undefined, shared: SharedSchemas): JsonSchema {
  const refer = (shape: NamedType): JsonSchema =>
    shared.refer(
      shape,
      shape.name,
      () => ({ ...jsonSchema(shape.type, refer), ...descriptionOf(shape.comment) }) as never,
    );
  return message === undefined ? { type: "object" } : jsonSchema(message.wire, refer);
}
