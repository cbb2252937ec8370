/** Tools of the Model Context Protocol (revision 2026-07-28, Tools), from the operations of an OpenAPI document. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { OpenApiDocument } from "../openapi/document.ts";
import { descriptionOf, STREAMING_NOTES } from "../openapi/operation.ts";
import type { Handler } from "../protocol/protocol.ts";
import type { AddedService } from "../server/resource.ts";

/** A method that models can call. */
export interface Tool {
  readonly handler: Handler;
  readonly selector: AddedService["selector"];
  /** The Tool object of `tools/list`. */
  readonly listed: JsonObject & { readonly name: string };
  /** True if results are also sent as JSON: older revisions allow objects only. */
  readonly isStructured: boolean;
}

const COMPONENT = "#/components/schemas/";
const STREAM_NOTE = STREAMING_NOTES.server_streaming;

/** Creates the tool of a method. Throws a `TypeError` if the method cannot be one. */
export function createTool(handler: Handler, { selector }: AddedService, { paths, components }: OpenApiDocument): Tool {
  const { path, service, name, kind, idempotency } = handler.method;
  if (kind !== "unary" && kind !== "server_streaming") throw unsuitable(path, `is ${kind.replace("_", " ")}`);
  const operation = paths[path]?.["post"] as unknown as Operation;
  const schemas = components["schemas"] as Record<string, JsonObject>;
  const inputSchema = standalone(schemaIn(operation.requestBody.content), schemas);
  if (inputSchema["type"] !== "object") throw unsuitable(path, "has no object as request, or no OpenAPI document");
  const message = schemaIn(operation.responses["200"].content);
  const outputSchema = standalone(kind === "unary" ? message : listOf(message), schemas);
  const isStructured = outputSchema["type"] === "object";
  const { summary, description = "" } = operation;
  const text = description.endsWith(STREAM_NOTE)
    ? [description.slice(0, -STREAM_NOTE.length).trim(), "The result has all messages of a stream."]
    : [description];
  return {
    handler,
    selector,
    isStructured,
    listed: {
      name: `${service}.${name}`,
      title: summary,
      ...descriptionOf(text),
      inputSchema,
      ...(isStructured ? { outputSchema } : {}),
      ...(idempotency === undefined ? {} : { annotations: ANNOTATIONS[idempotency] }),
    },
  };
}

/** The annotations of a method by its declared effect (`idempotency_level`). */
const ANNOTATIONS = {
  no_side_effects: { readOnlyHint: true, idempotentHint: true },
  idempotent: { readOnlyHint: false, idempotentHint: true },
} as const;

/** The parts of an operation that a tool has too. */
interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly requestBody: { readonly content: Content };
  readonly responses: { readonly "200": { readonly content: Content } };
}

type Content = Readonly<Record<string, { readonly schema: JsonObject }>>;

const schemaIn = (content: Content): JsonObject => Object.values(content)[0]?.schema ?? {};

/** The result of a server stream. */
function listOf(items: JsonObject): JsonObject {
  return { type: "object", properties: { messages: { type: "array", items } }, required: ["messages"] };
}

/** Returns a schema with the schemas of a document to which it refers, directly or not, in `$defs`. */
function standalone(schema: JsonObject, schemas: Readonly<Record<string, JsonObject>>): JsonObject {
  const needed = new Map<string, JsonObject>();
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, member] of Object.entries(value)) {
      const name = key === "$ref" && typeof member === "string" ? member.slice(COMPONENT.length) : undefined;
      if (name === undefined) visit(member);
      else if (!needed.has(name)) {
        needed.set(name, schemas[name] as JsonObject);
        visit(schemas[name]);
      }
    }
  };
  const reference = schema["$ref"];
  const root = typeof reference === "string" ? (schemas[reference.slice(COMPONENT.length)] as JsonObject) : schema;
  visit(root);
  const whole = needed.size === 0 ? root : { ...root, $defs: Object.fromEntries(needed) };
  return JSON.parse(JSON.stringify(whole).replaceAll(`"$ref":"${COMPONENT}`, '"$ref":"#/$defs/'));
}

function unsuitable(path: string, reason: string): TypeError {
  return new TypeError(`${path} ${reason}: tools are unary or server streaming methods, whose request is an object`);
}
