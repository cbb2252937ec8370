/** Errors of sub-protocol A in an OpenAPI document: the error body, and the tables of statuses and codes. */
import type { JsonObject } from "@bufbuild/protobuf";
import { Code, codeName, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { httpStatusOf } from "../http-rpc/error-response.ts";
import { reference } from "./schema.ts";

/** The name of the error body in `components`. It contains no character that names of messages contain. */
const ERROR_SCHEMA = "Error-Body";

const ERROR_CODES: readonly Code[] = Object.values(Code);
const STATUS_NAMES: readonly (readonly [name: string, status: Status])[] = Object.entries(Status).filter(
  ([, status]) => status !== Status.Ok,
);

/** The rows of a table in Markdown. */
function tableOf(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** Returns a name such as `ServiceNotFound` in words. */
const wordsOf = (name: string): string => name.replaceAll(/\B[A-Z]/g, " $&").toLowerCase();

function errorTables(): string {
  const statuses = STATUS_NAMES.filter(([, status]) => status !== Status.ServiceError).map(([name, status]) => [
    status,
    wordsOf(name),
    httpStatusOf(new RpcError(Code.Internal, "", { status })),
  ]);
  const codes = ERROR_CODES.map((code) => [`\`${codeName(code)}\``, httpStatusOf(new RpcError(code, ""))]);
  return [
    "Errors of the protocol, by `status`:",
    tableOf(["status", "meaning", "HTTP status"], statuses),
    "Errors of a method have the status 70, and an HTTP status by `code`:",
    tableOf(["code", "HTTP status"], codes),
    "A message over the size limit is refused with 413, an unsupported content type with 415, and too many headers with 431.",
  ].join("\n\n");
}

/** Returns the schema of the error body, and the responses that contain it. */
export function errorComponents(): { readonly schemas: JsonObject; readonly responses: JsonObject } {
  const tables = errorTables();
  const responseOf = (description: string): JsonObject => ({
    description,
    content: { "application/json": { schema: reference(ERROR_SCHEMA) } },
  });
  return {
    schemas: { [ERROR_SCHEMA]: errorBody(tables) },
    responses: {
      ClientError: responseOf("The request is invalid or refused, or has failed: the error body says why."),
      ServerError: responseOf("The call has failed: the error body says why."),
    },
  };
}

function errorBody(tables: string): JsonObject {
  return {
    type: "object",
    description: `The body of an error.\n\n${tables}`,
    properties: {
      status: {
        type: "integer",
        description: "The error code of the protocol.",
        enum: STATUS_NAMES.map(([, status]) => status),
      },
      message: { type: "string", description: "A message for developers." },
      code: { type: "string", description: "The gRPC code.", enum: ERROR_CODES.map(codeName) },
      details: {
        type: "array",
        description: "Messages that describe the error further, if there are any.",
        items: {
          type: "object",
          properties: {
            type: { type: "string", description: "The full name of the message." },
            value: {
              type: "string",
              contentEncoding: "base64",
              description: "The message in protobuf's binary format.",
            },
            debug: { description: "The message in JSON, if the server knows its type." },
          },
          required: ["type", "value"],
        },
      },
    },
    required: ["status", "message", "code"],
  };
}

/** The responses of an operation that are errors. */
export const ERROR_RESPONSES: JsonObject = {
  "4XX": { $ref: "#/components/responses/ClientError" },
  "5XX": { $ref: "#/components/responses/ServerError" },
};
