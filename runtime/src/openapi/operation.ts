/** Operations: what an OpenAPI document says about the call of a method at its own path. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { payloadOf, type Selector } from "../call/call.ts";
import type { Method } from "../call/method.ts";
import type { MessageSchemas, Payload } from "../protocol/payload.ts";
import type { Comments } from "./comments.ts";
import { ERROR_RESPONSES } from "./error-schema.ts";
import { exampleOf } from "./example.ts";
import type { JsonSchema, SchemaCollection } from "./schema.ts";

/** A service to describe. */
export interface ServiceDescription {
  readonly typeName: string;
  readonly methods: readonly Method[];
  /** The versions and groups under which it is served. */
  readonly selectors: readonly Selector[];
}

/** Components to which operations refer. */
export const PARAMETERS: JsonObject = {
  Timeout: {
    name: "tri-service-timeout",
    in: "header",
    description: "The deadline of the call in milliseconds.",
    schema: { type: "integer", minimum: 1 },
  },
};

/** The notes on the kinds of streams. Those of clients are not calls of sub-protocol A. */
export const STREAMING_NOTES: Readonly<Record<Method["kind"], string>> = {
  unary: "",
  server_streaming:
    "Server streaming: the data of each server-sent event is a message. The last event is `end`, or `failure` with the body of an error.",
  client_streaming: "Client streaming: call it over gRPC. Browsers cannot; use a gRPC client such as grpcurl.",
  bidi_streaming: "Bidirectional streaming: call it over gRPC. Browsers cannot; use a gRPC client such as grpcurl.",
};

/** The schemas of messages that their payload does not describe. */
const UNKNOWN: MessageSchemas = { request: {}, response: {} };

/** Returns the operation of the methods that share a path: one, or the overloads of an interface method. */
export function callOperation(
  service: ServiceDescription,
  methods: readonly Method[],
  schemas: SchemaCollection,
): JsonObject {
  const [method] = methods as [Method];
  const parts = methods.map((one) => messagesOf(one, schemas));
  const [requestType, responseType] = mediaTypesOf(method);
  const note = method.kind === "unary" ? (parts[0]?.note ?? "") : STREAMING_NOTES[method.kind];
  return {
    ...factsOf(method, schemas.comments),
    ...descriptionOf([schemas.comments.of(`${method.service}.${method.name}`), note]),
    parameters: [{ $ref: "#/components/parameters/Timeout" }, ...selectorParameters(service.selectors)],
    requestBody: {
      required: true,
      content: contentOf(requestType, anyOf(parts.map(({ request }) => request)), parts[0]?.example),
    },
    responses: {
      "200": {
        description: responseText(method),
        content: contentOf(
          responseType,
          anyOf(parts.map(({ response }) => response)),
          method.output && exampleOf(method.output),
        ),
      },
      ...ERROR_RESPONSES,
    },
  };
}

function messagesOf(method: Method, schemas: SchemaCollection): MessageSchemas {
  const { input, output, payload } = method;
  if (payload !== undefined) return payloadOf<Payload>(method)?.server?.describe?.(method, schemas) ?? UNKNOWN;
  return { request: schemas.message(input), response: schemas.message(output), example: exampleOf(input) };
}

/** Returns the members of an operation that do not depend on the encoding of its messages. */
export function factsOf(method: Method, comments: Comments): JsonObject {
  const { service, name, kind, deprecated, idempotency } = method;
  return {
    operationId: `${service}.${name}`,
    tags: [service],
    summary: summaryOf(comments.of(`${service}.${name}`)) ?? name,
    ...(deprecated ? { deprecated } : {}),
    ...(kind === "unary" ? {} : { "x-streaming": kind.replace("_streaming", "") }),
    ...(idempotency === undefined ? {} : { "x-idempotency": idempotency }),
  };
}

/** Returns the first sentence of a comment, if it fits in a line. */
function summaryOf(comment: string): string | undefined {
  const [paragraph = ""] = comment.split(/\n\s*\n/);
  const [sentence = ""] = paragraph.replaceAll(/\s+/g, " ").split(/(?<=[.!?]) /);
  return sentence === "" || sentence.length > 120 ? undefined : sentence.replace(/\.$/, "");
}

/** Returns a description of paragraphs, if there are any. */
export function descriptionOf(paragraphs: readonly string[]): JsonObject {
  const description = paragraphs.filter((text) => text !== "").join("\n\n");
  return description === "" ? {} : { description };
}

/** The content types of request and response. HTTP RPC has no client streams. */
function mediaTypesOf(method: Method): [request: string, response: string] {
  const { kind, payload } = method;
  if (kind === "unary") return ["application/json", "application/json"];
  if (kind === "server_streaming") return ["application/json", "text/event-stream"];
  const isJson = payload === undefined || payloadOf<Payload>(method)?.server?.codec === "json";
  const mediaType = `application/grpc+${isJson ? "json" : "proto"}`;
  return [mediaType, mediaType];
}

function responseText({ kind, output }: Method): string {
  const name = output?.typeName ?? "the result";
  return kind === "unary" || kind === "client_streaming" ? `The response, ${name}.` : `A stream of ${name}.`;
}

/** Joins the schemas of overloads, some of which may be equal. */
function anyOf(schemas: readonly JsonSchema[]): JsonSchema {
  const distinct = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
  return distinct.length === 1 && distinct[0] !== undefined ? distinct[0] : { anyOf: distinct };
}

/** Returns the content of a body. The example, if any, is needed: those that pages make of schemas set all members of a oneof. */
export function contentOf(mediaType: string, schema: JsonSchema, example: JsonValue | undefined): JsonObject {
  return { [mediaType]: example === undefined ? { schema } : { schema, example } };
}

/** Returns the parameters that select a version or group. A service that is served without needs none. */
export function selectorParameters(selectors: readonly Selector[]): JsonObject[] {
  return (["version", "group"] as const).flatMap((key) => {
    const values = selectors.map((one) => one[key]);
    const known = [...new Set(values)].filter(Boolean) as string[];
    const required = values.every(Boolean);
    return known.length === 0
      ? []
      : [{ name: `tri-service-${key}`, in: "header", required, schema: { type: "string", enum: known } }];
  });
}
