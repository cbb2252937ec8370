/**
 * A server of the Model Context Protocol without sessions: one resource that answers POST. It implements the revision
 * 2026-07-28, and of the older ones `initialize`, `ping` and the tools. A tool call is a call of HTTP RPC: the interceptors,
 * the authorization and the limits of its method apply.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { RpcError, reasonOf } from "../call/error.ts";
import { Metadata } from "../call/metadata.ts";
import { assertArrays, assertMembers, similarName } from "../call/option.ts";
import { takeTurn } from "../call/turn.ts";
import { parseBounded } from "../codec/bounded-codec.ts";
import { encodeJson } from "../codec/codec.ts";
import { isObject } from "../codec/values/json.ts";
import { countOf } from "../codec/values/values.ts";
import { type Body, emptyBody, streamBody, tooLarge, WholeBody } from "../http/body.ts";
import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import { EventReader } from "../http-rpc/event-reader.ts";
import { EVENT_HEADERS } from "../http-rpc/events.ts";
import { PROTOCOL_VERSION } from "../http-rpc/headers.ts";
import { EVENT_TYPE, JSON_TYPE, parseMediaType, qualityOf } from "../http-rpc/media-type.ts";
import { createOpenApi, DocumentResource } from "../openapi/router-document.ts";
import { quote } from "../protocol/error.ts";
import { writeSelector } from "../protocol/selector.ts";
import { createOriginPolicy } from "../server/cors.ts";
import type { CallingResource, MethodRouter, Router } from "../server/router.ts";
import {
  complete,
  INVALID_PARAMS,
  INVALID_REQUEST,
  jsonResponse,
  METHOD_NOT_FOUND,
  MODERN,
  OLDER,
  PARSE_ERROR,
  ProtocolError,
  type Request,
  readRequest,
  respond,
  textIn,
} from "./message.ts";
import { createTool, type Tool } from "./tool.ts";

/** The time for which clients may keep the list of tools, which changes with the program only: five minutes. */
const LIST_TTL_MS = 300_000;
const CAPABILITIES = { tools: {} };
const TOOLS_PATH = /^\/[!"$->@-~]*$/;

/** The tools of a router. The constructor throws a `TypeError` for invalid options. */
export class ToolResource implements CallingResource {
  readonly #router: Router;
  readonly #methods: readonly string[];
  readonly path: string;
  readonly #tools = new Map<string, Tool>();
  #routes!: MethodRouter;
  #server!: JsonObject;

  constructor(router: Router, methods: readonly string[], options: { readonly path?: string | undefined }) {
    assertMembers("the options of addMcp", options, ["path"]);
    const { path = "/mcp" } = options;
    assertArrays({ "the methods of addMcp": methods });
    if (typeof path !== "string" || !TOOLS_PATH.test(path)) {
      throw new TypeError("the path of tools must start with / and be visible ASCII, without a query");
    }
    this.#router = router;
    this.#methods = methods;
    this.path = path;
  }

  readonly onMount = (routes: MethodRouter): void => {
    this.#routes = routes;
    const options = this.#router.resources.find((one) => one instanceof DocumentResource)?.options ?? {};
    const document = createOpenApi(this.#router, { ...options, includeGrpcServices: true });
    const { title = "", version = "" } = document.info;
    this.#server = { name: title, version };
    const methods = this.#router.services.flatMap((added) =>
      Object.values(added.service.methods).map(({ service, name, path }) => ({
        name: `${service}.${name}`,
        path,
        added,
      })),
    );
    for (const name of this.#methods) {
      const method = methods.find((one) => one.name === name);
      const handler = method && routes.find(method.path, method.added.selector);
      if (method === undefined || handler === undefined) {
        const meant = similarName(
          name,
          methods.map((one) => one.name),
        );
        const hint = meant === undefined ? "add it before its tools" : `did you mean ${quote(meant)}?`;
        throw new TypeError(`no service of the router has the method ${quote(name)}: ${hint}`);
      }
      this.#tools.set(name, createTool(handler, method.added, document));
    }
  };

  readonly serves = ({ path }: Pick<HttpRequest, "path">): boolean => path === this.path;

  readonly exchange = async (http: HttpRequest): Promise<HttpResponse> => {
    let id: string | number | null = null;
    try {
      const message = await this.#read(http);
      const { id: given, method } = message;
      if (given === undefined && typeof method === "string") {
        return { status: 202, headers: new Metadata(), body: emptyBody, trailers: new Metadata() };
      }
      if (typeof given !== "string" && !Number.isSafeInteger(given)) {
        throw new ProtocolError(400, INVALID_REQUEST, "the id of a request must be a string or an integer");
      }
      id = given as string | number;
      const request = readRequest(http, message, id, this.#server);
      return await this.#answer(http, request);
    } catch (reason) {
      const error = reason instanceof ProtocolError ? reason : this.#internal(reason);
      const { status, code, message, data } = error;
      return jsonResponse(
        { jsonrpc: "2.0", id, error: { code, message, ...(data === undefined ? {} : { data }) } },
        status,
        status === 405 ? { allow: "POST" } : {},
      );
    }
  };

  #internal(reason: unknown): ProtocolError {
    this.#routes.options.onError(reason, this.path);
    return new ProtocolError(500, -32603, "internal server error");
  }

  /** Reads the message of a request. */
  async #read({ method, headers, body }: HttpRequest): Promise<JsonObject> {
    const { maxMessageBytes, maxMessageValues, cors } = this.#routes.options;
    const origin = headers.get("origin");
    const hasCredentials = headers.has("cookie") || headers.has("authorization");
    // The origin of the server itself needs permission too: with DNS rebinding, every site can have its host.
    if (origin !== undefined && !(cors && createOriginPolicy(cors)(origin, hasCredentials))) {
      throw new ProtocolError(403, INVALID_REQUEST, `pages of ${quote(origin)} may not call; see the option cors`);
    }
    if (method !== "POST") throw new ProtocolError(405, INVALID_REQUEST, "use POST");
    const contentType = headers.get("content-type") ?? "";
    if (parseMediaType(contentType)?.name !== JSON_TYPE || headers.has("content-encoding")) {
      throw new ProtocolError(415, INVALID_REQUEST, `the body must be ${JSON_TYPE}, without content-encoding`);
    }
    let message: JsonValue;
    try {
      const announced = Number(headers.get("content-length"));
      if (announced > maxMessageBytes) throw tooLarge(maxMessageBytes, announced);
      const bytes = await body.bytes(maxMessageBytes);
      message = parseBounded(bytes, countOf(bytes, maxMessageValues));
    } catch (reason) {
      if (reason instanceof RpcError) throw new ProtocolError(413, INVALID_REQUEST, reason.rawMessage);
      const isSyntax = reason instanceof SyntaxError || reason instanceof TypeError;
      throw new ProtocolError(400, PARSE_ERROR, isSyntax ? "the body is not JSON" : reasonOf(reason));
    }
    if (!isObject(message) || message["jsonrpc"] !== "2.0") {
      const problem = "the body must be one message of JSON-RPC 2.0; batches are not supported";
      throw new ProtocolError(400, INVALID_REQUEST, problem);
    }
    return message;
  }

  async #answer(http: HttpRequest, request: Request): Promise<HttpResponse> {
    const { method, params, isModern } = request;
    switch (method) {
      case "server/discover":
        if (!isModern) break;
        return respond(request, {
          supportedVersions: [MODERN, ...OLDER],
          capabilities: CAPABILITIES,
          ttlMs: LIST_TTL_MS,
          cacheScope: "public",
        });
      case "initialize": {
        if (isModern) break;
        const wanted = params["protocolVersion"];
        const protocolVersion = OLDER.find((one) => one === wanted) ?? (OLDER[0] as string);
        return respond(request, { protocolVersion, capabilities: CAPABILITIES, serverInfo: request.server });
      }
      case "ping":
        if (isModern) break;
        return respond(request, {});
      case "tools/list": {
        if (params["cursor"] !== undefined) throw new ProtocolError(200, INVALID_PARAMS, "the list has one page only");
        const tools = Array.from(this.#tools.values(), ({ listed }) => listed);
        return respond(request, { tools, ...(isModern ? { ttlMs: LIST_TTL_MS, cacheScope: "public" } : {}) });
      }
      case "tools/call":
        return this.#call(http, request);
    }
    throw new ProtocolError(isModern ? 404 : 200, METHOD_NOT_FOUND, `the method ${quote(method)} is not supported`);
  }

  async #call(http: HttpRequest, request: Request): Promise<HttpResponse> {
    const { name, arguments: input = {} } = request.params;
    const tool = typeof name === "string" ? this.#tools.get(name) : undefined;
    if (tool === undefined) throw new ProtocolError(200, INVALID_PARAMS, `there is no tool ${quote(textIn(name))}`);
    if (!isObject(input)) throw new ProtocolError(200, INVALID_PARAMS, "the arguments of a tool must be an object");
    const { handler, selector } = tool;
    const { path, kind } = handler.method;
    const headers = http.headers.filter((one) => !REPLACED.test(one));
    headers.append("content-type", JSON_TYPE).append("tri-protocol-version", PROTOCOL_VERSION);
    headers.append("accept", kind === "unary" ? JSON_TYPE : EVENT_TYPE);
    writeSelector(headers, selector);
    const response = await this.#routes.answer(callOf(http, path, headers, new WholeBody(encodeJson(input))), handler);
    if (response.status !== 200) {
      const bytes = await response.body.bytes(Number.POSITIVE_INFINITY);
      // Clients begin their authorization at this status.
      if (response.status === 401) return { ...response, body: new WholeBody(bytes) };
      return respond(request, failed(new TextDecoder().decode(bytes)));
    }
    if (kind === "unary") {
      const text = new TextDecoder().decode(await response.body.bytes(Number.POSITIVE_INFINITY));
      return respond(request, succeeded(tool, text));
    }
    const results = this.#collect(tool, response, http.signal);
    const { progressToken } = request.meta;
    const isToken = typeof progressToken === "string" || Number.isInteger(progressToken);
    if (isToken && qualityOf(http.headers.get("accept") ?? "", EVENT_TYPE) > 0) {
      const events = notify(request, results, progressToken as string | number);
      return { status: 200, headers: EVENT_HEADERS, body: streamBody(events), trailers: new Metadata() };
    }
    for await (const step of results) if (typeof step !== "string") return respond(request, step);
    throw new Error(`the stream of ${path} has no end`);
  }

  /** Yields the JSON of each message of a server stream, and then the result of the tool. */
  async *#collect(tool: Tool, { body }: HttpResponse, signal?: AbortSignal): AsyncGenerator<string | JsonObject, void> {
    const { maxMessageBytes } = this.#routes.options;
    const messages: string[] = [];
    let size = 0;
    const reader = new EventReader(Number.POSITIVE_INFINITY);
    for await (const chunk of body) {
      reader.push(chunk);
      for (let event = reader.next(); event !== undefined; event = reader.next()) {
        const { name, data } = event;
        // The result is not sent. The return from these loops ends the messages of the handler.
        if (signal?.aborted) return yield errorResult({ code: "canceled", message: "the client has left" });
        if (name === "end") return yield succeeded(tool, `{"messages":[${messages.join(",")}]}`);
        if (name === "failure") return yield failed(data);
        size += data.length;
        if (size > maxMessageBytes) {
          const problem = `the messages of the stream have more than ${maxMessageBytes} characters in JSON; ask for fewer`;
          return yield errorResult({ code: "resource_exhausted", message: problem });
        }
        messages.push(data);
        await takeTurn(data.length);
        yield data;
      }
    }
  }
}

/** Returns the request of a call. Requests of engines are objects whose members a spread would not copy. */
function callOf(http: HttpRequest, path: string, headers: Metadata, body: Body): HttpRequest {
  const { method, version, authority, peer, values, signal, draining } = http;
  const waitUntil = (work: Promise<unknown>): void => http.waitUntil?.(work);
  return { method, path, version, authority, headers, body, peer, values, signal, draining, waitUntil };
}

/** Headers of a request that are not those of its call. */
const REPLACED = /^(?:accept|accept-encoding|content-.*|mcp-.*|tri-protocol-version|tri-service-(?:version|group))$/;

/** Yields a notification for each message, and then the response (revision 2026-07-28, Progress). */
async function* notify(
  request: Request,
  results: AsyncIterable<string | JsonObject>,
  progressToken: string | number,
): AsyncGenerator<Uint8Array, void> {
  let progress = 0;
  for await (const step of results) {
    const message =
      typeof step === "string"
        ? { method: "notifications/progress", params: { progressToken, progress: ++progress, message: step } }
        : { id: request.id, result: complete(request, step) };
    yield new TextEncoder().encode(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
  }
}

/** The result of a call. The text is JSON, for clients that do not read the structured form. */
function succeeded({ isStructured }: Tool, text: string): JsonObject {
  return { content: [{ type: "text", text }], ...(isStructured ? { structuredContent: JSON.parse(text) } : {}) };
}

/** The result of a call that has failed with an error body of HTTP RPC. */
function failed(body: string): JsonObject {
  const { code = null, message = null, details } = JSON.parse(body) as JsonObject;
  return errorResult({ code, message, ...(details === undefined ? {} : { details }) });
}

function errorResult(error: JsonObject): JsonObject {
  return { content: [{ type: "text", text: JSON.stringify(error) }], isError: true };
}
