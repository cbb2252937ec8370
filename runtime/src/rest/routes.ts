/**
 * REST routes of the methods of a router, by `google.api.http`. A route is another address and another encoding of a call:
 * everything else is as in sub-protocol A.
 */
import { fromJson } from "@bufbuild/protobuf";
import type { Selector } from "../call/call.ts";
import { Code } from "../call/code.ts";
import { Metadata } from "../call/metadata.ts";
import { type HttpRule, HttpRuleSchema } from "../gen/google/api/http_pb.ts";
import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import { Refusal } from "../http-rpc/error-response.ts";
import { JSON_TYPE, parseMediaType } from "../http-rpc/media-type.ts";
import { rpcErrorResponse } from "../http-rpc/server.ts";
import { clipText } from "../protocol/error.ts";
import { readSelector, writeSelector } from "../protocol/selector.ts";
import type { AddedService } from "../server/added-service.ts";
import { type BoundCall, type RequestTarget, type Resource, withoutBody } from "../server/resource.ts";
import type { Router } from "../server/router.ts";
import { decodeRequest, encodeResponse } from "./binding.ts";
import { RouteRequest } from "./route-request.ts";
import { type RouteMatch, RouteTable } from "./route-table.ts";
import { type Route, routesOf } from "./rule.ts";

/** A rule of `google.api.HttpRule` in JSON. One of `get`, `put`, `post`, `delete`, `patch` and `custom` is required. */
export interface RestRule extends RestBinding {
  /** Full name of the method, such as `greet.v1.GreetService.Greet`. */
  readonly selector: string;
  /** Other routes of the method. Default: none. */
  readonly additionalBindings?: readonly RestBinding[] | undefined;
}

/** One route of a method: its HTTP method, its path template and the places of its messages. */
export interface RestBinding {
  /** The path template of GET. */
  readonly get?: string | undefined;
  /** The path template of PUT. */
  readonly put?: string | undefined;
  /** The path template of POST. */
  readonly post?: string | undefined;
  /** The path template of DELETE. */
  readonly delete?: string | undefined;
  /** The path template of PATCH. */
  readonly patch?: string | undefined;
  /** Another HTTP method, or `*` for all methods, and the path template. */
  readonly custom?: { readonly kind: string; readonly path: string } | undefined;
  /** The field of the request that the body contains, or `*` for all fields outside of the path. Default: no body. */
  readonly body?: string | undefined;
  /** The field of the response that is the body. Default: the whole message. */
  readonly responseBody?: string | undefined;
}

/** Options of {@link addRest}. */
export interface RestOptions {
  /**
   * Rules in addition to the annotations of the proto files, as in the service configuration of gRPC: a rule replaces the
   * annotation of its method. Default: none.
   */
  readonly rules?: readonly RestRule[] | undefined;
}

/**
 * Adds the routes of `google.api.http` to a router or server: those of the services that have been added, and of those
 * that are added later. A method that is declared to have no side effects, and has no rule, can be called with GET at
 * its own path, with query parameters.
 *
 * Throws a `TypeError` for an invalid rule, and an `Error` if two methods have the same route; `add` throws them for services
 * that are added later.
 */
export function addRest(router: Router, options: RestOptions = {}): void {
  router.mount(new RestResource(readRules(options.rules ?? [])));
}

function readRules(rules: readonly RestRule[]): Map<string, HttpRule> {
  const bySelector = new Map<string, HttpRule>();
  for (const [index, rule] of rules.entries()) {
    if (typeof rule?.selector !== "string") throw new TypeError(`rules[${index}] must have a selector`);
    bySelector.set(rule.selector, readRule(rule));
  }
  return bySelector;
}

function readRule(rule: RestRule): HttpRule {
  try {
    return fromJson(HttpRuleSchema, JSON.parse(JSON.stringify(rule)));
  } catch (cause) {
    throw new TypeError(`the rule of ${rule.selector} is invalid: ${(cause as Error).message}`, { cause });
  }
}

/** Returns the routes that the resources of a router serve, in order. */
export function routesOfRouter(resources: readonly Resource[]): Route[] {
  return resources.flatMap((one) => (one instanceof RestResource ? one.routes : []));
}

/** The route of a method in the table, with the version and group of its service. */
interface AddedRoute extends Route {
  readonly selector: Selector;
}

class RestResource implements Resource {
  readonly routes: Route[] = [];
  readonly #table = new RouteTable<AddedRoute>();
  readonly #rules: ReadonlyMap<string, HttpRule>;

  constructor(rules: ReadonlyMap<string, HttpRule>) {
    this.#rules = rules;
  }

  readonly onAdd = ({ service, selector }: AddedService): void => {
    for (const method of Object.values(service.methods)) {
      if (method.payload !== undefined) continue;
      for (const route of routesOf(service, method, this.#rules.get(`${method.service}.${method.name}`))) {
        const known = this.#table.add({ ...route, selector });
        // A service that is added with another version or group has the same routes.
        if (known === undefined) this.routes.push(route);
        else if (known.target.path !== method.path) throw conflict(known, route);
      }
    }
  };

  readonly serves = ({ path }: RequestTarget): boolean => this.#table.methodsAt(path).length > 0;

  readonly exchange = (request: HttpRequest, call: BoundCall): Promise<HttpResponse> => {
    const { path, query } = splitTarget(request.path);
    const { method } = request;
    const match = this.#table.find(method, path);
    if (match !== undefined) return callRoute(request, match, query, call);
    const safe = method === "HEAD" ? this.#table.find("GET", path) : undefined;
    if (safe !== undefined) return callRoute(request, safe, query, call).then(withoutBody);
    return Promise.resolve(rpcErrorResponse(methodNotAllowed(method, path, this.#table)));
  };
}

function conflict(known: Route, { method, template, target }: Route): Error {
  return new Error(
    `${target.path} and ${known.target.path} have the same route: ${method} ${template.text}` +
      (known.template.text === template.text ? "" : ` matches the same paths as ${known.template.text}`),
  );
}

function splitTarget(target: string): { path: string; query: string } {
  const mark = target.indexOf("?");
  return mark < 0 ? { path: target, query: "" } : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}

/** Creates the error for a path whose routes have other HTTP methods (RFC 9110, section 15.5.6). */
function methodNotAllowed(method: string, path: string, table: RouteTable<AddedRoute>): Refusal {
  const methods = table.methodsAt(path);
  const isMethodPath = methods.some((one) => table.find(one, path)?.route.target.path === path);
  const allowed = new Set([
    ...methods,
    ...(methods.includes("GET") ? ["HEAD"] : []),
    ...(isMethodPath ? ["POST"] : []),
  ]);
  const allow = [...allowed].sort().join(", ");
  return new Refusal(405, Code.Unimplemented, `${clipText(path, 200)} takes ${allow}, not ${clipText(method, 20)}`, {
    allow,
  });
}

async function callRoute(
  request: HttpRequest,
  match: RouteMatch<AddedRoute>,
  query: string,
  call: BoundCall,
): Promise<HttpResponse> {
  const { route } = match;
  const { target } = route;
  if (target.kind !== "unary") return rpcErrorResponse(streaming(route));
  const { headers, checksOrigin } = callHeadersOf(request, route);
  return call(new RouteRequest(request, target.path, headers), {
    decode: (body, json) => decodeRequest(match, query, body, json),
    encode: (message, values) => encodeResponse(route, message, values),
    checksOrigin,
  });
}

/** Returns the headers of a call: those of the request, with the selector of the service and the content type of a call. */
function callHeadersOf(
  { headers, method }: HttpRequest,
  { selector, body }: AddedRoute,
): { readonly headers: Metadata; readonly checksOrigin: boolean } {
  const called = new Metadata(headers);
  const wanted = readSelector(headers);
  if (wanted.version === undefined && wanted.group === undefined) writeSelector(called, selector);
  const contentType = headers.get("content-type");
  if (contentType === undefined || body === undefined) called.set("content-type", JSON_TYPE);
  const isJson = contentType !== undefined && parseMediaType(contentType)?.name === JSON_TYPE;
  return { headers: called, checksOrigin: method !== "GET" && method !== "HEAD" && !isJson };
}

function streaming({ target: { kind, path } }: Route): Refusal {
  const problem = `${path} is ${kind.replace("_", " ")}, which routes do not support`;
  return new Refusal(501, Code.Unimplemented, `${problem}; call it at its path over gRPC or gRPC-Web`);
}
