/**
 * REST, server half: finds the route of a request, and converts it to a unary call and its result to a response in JSON. The
 * headers, limits and errors are those of sub-protocol A.
 */
import type { Selector } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { createBodyJson, type JsonCodec, jsonCodecOf } from "../codec/bounded-codec.ts";
import type { JsonValues } from "../codec/codec.ts";
import { countOf } from "../codec/values/values.ts";
import type { HttpRule } from "../gen/google/api/http_pb.ts";
import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import { type Formats, type ResponseFormat, responseHead, unsupported } from "../http-rpc/content-type.ts";
import { Refusal, serializationError } from "../http-rpc/error-response.ts";
import { isUtf8, JSON_TYPE, parseMediaType } from "../http-rpc/media-type.ts";
import { HttpRpcServer, rpcErrorResponse } from "../http-rpc/server.ts";
import { clipText } from "../protocol/error.ts";
import { readSelector } from "../protocol/selector.ts";
import type { AddedService } from "../server/resource.ts";
import type { CallingResource, MethodRouter } from "../server/router.ts";
import { decodeRequest, encodeResponse } from "./binding.ts";
import { type RouteMatch, RouteTable } from "./route-table.ts";
import { type Route, routesOf } from "./rule.ts";

/** The route of a method in the table, with what its calls share. */
interface AddedRoute extends Route {
  /** The version and group of the service. */
  readonly selector: Selector;
  readonly response: ResponseFormat;
}

export class RestServer implements CallingResource {
  readonly routes: Route[] = [];
  readonly #table = new RouteTable<AddedRoute>();
  readonly #rules: ReadonlyMap<string, HttpRule>;
  #router!: MethodRouter;
  #protocol!: HttpRpcServer;
  #codec!: JsonCodec;
  /** The latest request and its route, which `serves` and `exchange` look for in turn. */
  #latest: { readonly method: string; readonly path: string; readonly match: RouteMatch<AddedRoute> } | undefined;

  /** Rules replace the annotations of methods, by their full names. */
  constructor(rules: ReadonlyMap<string, HttpRule>) {
    this.#rules = rules;
  }

  readonly onMount = (router: MethodRouter): void => {
    this.#router = router;
    this.#protocol = new HttpRpcServer(router.options);
    this.#codec = jsonCodecOf(router.options.codecs);
  };

  readonly onAdd = ({ service, selector }: AddedService): void => {
    this.#latest = undefined;
    for (const method of Object.values(service.methods)) {
      if (method.payload !== undefined) continue;
      for (const route of routesOf(service, method, this.#rules.get(`${method.service}.${method.name}`))) {
        const known = this.#table.add({ ...route, selector, response: responseOf(route, this.#codec) });
        // A service that is added with another version or group has the same routes.
        if (known === undefined) this.routes.push(route);
        else if (known.target.path !== method.path) throw conflict(known, route);
      }
    }
  };

  readonly serves = ({ method, path }: Pick<HttpRequest, "method" | "path">): boolean => {
    if (this.#match(method, path) !== undefined) return true;
    const allowed = methodsAt(path, this.#table);
    // A POST without a route is a call of a method whose version or group is not served.
    return allowed.length > 0 && !allowed.includes(method);
  };

  readonly exchange = (request: HttpRequest): Promise<HttpResponse> => {
    // A call of a method that no service has, at a path that a route such as `/{name=**}` matches.
    if (request.headers.get("content-type")?.startsWith("application/grpc"))
      return this.#router.answer(request, undefined);
    const [path = ""] = request.path.split("?", 1);
    const query = request.path.slice(path.length + 1);
    const { method } = request;
    const match = this.#match(method, path);
    if (match === undefined) return Promise.resolve(rpcErrorResponse(methodNotAllowed(method, path, this.#table)));
    return this.#call(request, match, query);
  };

  #match(method: string, path: string): RouteMatch<AddedRoute> | undefined {
    if (this.#latest?.path === path && this.#latest.method === method) return this.#latest.match;
    const match = this.#table.find(method, path);
    this.#latest = match && { method, path, match };
    return match;
  }

  #call(request: HttpRequest, match: RouteMatch<AddedRoute>, query: string): Promise<HttpResponse> {
    const { target, selector } = match.route;
    const { version, group } = readSelector(request.headers);
    const wanted = version === undefined && group === undefined ? selector : { version, group };
    const handler = this.#router.find(target.path, wanted);
    return this.#protocol.serve(
      request,
      { handler, selector: wanted, headers: undefined },
      formatsOf(match, query, this.#codec.values),
    );
  }
}

/** Returns the formats of one request at a route: JSON, with fields in the path and the query. */
function formatsOf(match: RouteMatch<AddedRoute>, query: string, values: JsonValues): Formats {
  const { route } = match;
  const { response } = route;
  const { kind, path } = route.target;
  return {
    path,
    findRequest({ method, headers }) {
      if (kind !== "unary" && kind !== "server_streaming") throw streaming(route);
      const contentType = headers.get("content-type");
      const mediaType = contentType === undefined ? undefined : parseMediaType(contentType);
      const isJson = mediaType?.name === JSON_TYPE || mediaType?.name.endsWith("+json") === true;
      if (contentType !== undefined && route.body !== undefined && !(isJson && isUtf8(mediaType))) {
        throw unsupported(contentType, [JSON_TYPE]);
      }
      const isSafelisted = method !== "GET" && method !== "HEAD" && !isJson;
      return {
        decode: (bytes, { limits }) =>
          decodeRequest(match, query, bytes, createBodyJson(values, countOf(bytes, limits.maxMessageValues))),
        malformed: serializationError,
        response,
        safelisted: isSafelisted ? "a request without a JSON body" : undefined,
      };
    },
    responsesOf: () => new Map([[JSON_TYPE, response]]),
  };
}

function responseOf(route: Route, codec: JsonCodec): ResponseFormat {
  return { ...responseHead(JSON_TYPE), encode: (message) => encodeResponse(route, message, codec) };
}

function conflict(known: Route, { method, template, target }: Route): Error {
  return new Error(
    `${target.path} and ${known.target.path} have the same route: ${method} ${template.text}` +
      (known.template.text === template.text ? "" : ` matches the same paths as ${known.template.text}`),
  );
}

/** Returns the HTTP methods of the routes that match the path, and POST if it is that of a method. */
function methodsAt(path: string, table: RouteTable<AddedRoute>): string[] {
  const methods = table.methodsAt(path);
  const isMethodPath = methods.some((one) => table.find(one, path)?.route.target.path === path);
  return [...new Set([...methods, ...(methods.includes("GET") ? ["HEAD"] : []), ...(isMethodPath ? ["POST"] : [])])];
}

/** Creates the error for a path whose routes have other HTTP methods (RFC 9110, section 15.5.6). */
function methodNotAllowed(method: string, path: string, table: RouteTable<AddedRoute>): Refusal {
  const allow = methodsAt(path, table).sort().join(", ");
  return new Refusal(405, Code.Unimplemented, `${clipText(path, 200)} takes ${allow}, not ${clipText(method, 20)}`, {
    allow,
  });
}

function streaming({ target: { kind, path } }: Route): Refusal {
  const problem = `${path} is ${kind.replace("_", " ")}, which routes do not support`;
  return new Refusal(501, Code.Unimplemented, `${problem}; call it at its path over gRPC or gRPC-Web`);
}
