/**
 * Entry point `triple-es/openapi`: OpenAPI 3.1 documents of services.
 *
 * @module triple-es/openapi
 */
export { createOpenApiOf } from "./openapi/descriptor-document.ts";
export type { OpenApiDocument, OpenApiOptions } from "./openapi/document.ts";
export { addOpenApi, createOpenApi } from "./openapi/router-document.ts";
