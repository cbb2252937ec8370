/**
 * OpenAPI documents of proto files (`openapi=true`). The runtime describes the services: a document that is written at
 * build time and one that a server creates have the same contents.
 */
import type { DescFile } from "@bufbuild/protobuf";
import { createOpenApiOf } from "../../runtime/src/openapi/descriptor-document.ts";
import { InputError } from "./request-check.ts";

/** Returns the document of the services of a file, as JSON. Throws an `InputError` for an invalid annotation. */
export function openApiFile(file: DescFile): string {
  const { services, proto } = file;
  const title = services.length === 1 ? services[0]?.typeName : proto.package || file.name;
  try {
    return JSON.stringify(createOpenApiOf(services, { info: title === undefined ? {} : { title } }), undefined, 2);
  } catch (error) {
    if (error instanceof TypeError) throw new InputError(`${proto.name}: ${error.message}`);
    throw error;
  }
}
