/** Messages of the Model Context Protocol: requests of JSON-RPC and their validation, errors, and responses. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { decodeBase64 } from "../call/base64.ts";
import type { Metadata } from "../call/metadata.ts";
import { isObject } from "../codec/values/json.ts";
import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import { JSON_TYPE } from "../http-rpc/media-type.ts";
import { quote } from "../protocol/error.ts";
import { textResponse } from "../server/resource.ts";

export const MODERN = "2026-07-28";
/** Revisions that begin with `initialize`, the newest first. */
export const OLDER: readonly string[] = ["2025-11-25", "2025-06-18", "2025-03-26"];

/** Codes of errors (JSON-RPC 2.0, section 5.1; revision 2026-07-28, Errors). */
export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
const HEADER_MISMATCH = -32020;
const UNSUPPORTED_VERSION = -32022;

const META = "io.modelcontextprotocol/";

/** An error of the protocol, with the HTTP status of its response. */
export class ProtocolError extends Error {
  readonly status: number;
  readonly code: number;
  readonly data: JsonObject | undefined;
  constructor(status: number, code: number, message: string, data?: JsonObject) {
    super(message);
    this.status = status;
    this.code = code;
    this.data = data;
  }
}

/** A request of JSON-RPC. */
export interface Request {
  readonly id: string | number;
  readonly method: string;
  readonly params: JsonObject;
  readonly meta: JsonObject;
  readonly isModern: boolean;
  /** The name and version of the server: those of its OpenAPI document. */
  readonly server: JsonObject;
}

/** Validates a request. The revision 2026-07-28 repeats parts of it in headers. */
export function readRequest(
  { headers }: HttpRequest,
  message: JsonObject,
  id: string | number,
  server: JsonObject,
): Request {
  const { method, params = {} } = message;
  if (typeof method !== "string" || !isObject(params)) {
    throw new ProtocolError(400, INVALID_REQUEST, "a request must have a method, and params that are an object");
  }
  const meta = isObject(params["_meta"]) ? params["_meta"] : {};
  const wanted = meta[`${META}protocolVersion`];
  if (wanted !== undefined) checkHeader(headers, "mcp-protocol-version", wanted);
  const requested = headers.get("mcp-protocol-version") ?? "2025-03-26";
  if (requested !== MODERN && !OLDER.includes(requested)) {
    const data = { supported: [MODERN, ...OLDER], requested };
    throw new ProtocolError(400, UNSUPPORTED_VERSION, `the revision ${quote(requested)} is not supported`, data);
  }
  const isModern = requested === MODERN;
  if (isModern) {
    if (wanted === undefined || !isObject(meta[`${META}clientCapabilities`])) {
      const problem = `_meta must have ${META}protocolVersion and ${META}clientCapabilities`;
      throw new ProtocolError(400, INVALID_PARAMS, problem);
    }
    checkHeader(headers, "mcp-method", method);
    if (method === "tools/call") checkHeader(headers, "mcp-name", params["name"]);
  }
  return { id, method, params, meta, isModern, server };
}

/** A value for a message: objects may have members such as `toString`. */
export const textIn = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

function checkHeader(headers: Metadata, name: string, wanted: JsonValue | undefined): void {
  const value = headers.get(name);
  if (value === undefined || decodeField(value) !== wanted) {
    throw new ProtocolError(400, HEADER_MISMATCH, `the header ${name} must be equal to its value in the body`);
  }
}

/** Decodes the form `=?base64?…?=` of values with characters that headers cannot have. */
function decodeField(value: string): string | undefined {
  const [, encoded] = /^=\?base64\?([A-Za-z0-9+/]*=*)\?=$/.exec(value) ?? [];
  if (encoded === undefined) return value;
  try {
    return new TextDecoder().decode(decodeBase64(encoded));
  } catch {
    return undefined;
  }
}

/** Adds what every result of the revision 2026-07-28 has. */
export function complete({ isModern, server }: Request, result: JsonObject): JsonObject {
  return isModern ? { resultType: "complete", ...result, _meta: { [`${META}serverInfo`]: server } } : result;
}

export function respond(request: Request, result: JsonObject): HttpResponse {
  return jsonResponse({ jsonrpc: "2.0", id: request.id, result: complete(request, result) });
}

export function jsonResponse(
  message: JsonObject,
  status = 200,
  fields: Readonly<Record<string, string>> = {},
): HttpResponse {
  return textResponse(status, JSON_TYPE, JSON.stringify(message), fields);
}
