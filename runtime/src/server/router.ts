/**
 * The router: finds the handler for a path, and passes the request to the protocol that accepts it. The protocol
 * creates every response, including "not found".
 */
import {
  type Authorize,
  type Call,
  type Interceptor,
  type Method,
  payloadOf,
  type Selector,
  type ServiceDef,
} from "../call/call.ts";
import { assertAmount, assertArrays, assertFunctions, assertMembers, type MemberNames } from "../call/option.ts";
import { remember } from "../call/remember.ts";
import { CallCounts, type ServerState, type Shown } from "../http/channel-state.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../http/exchange.ts";
import type { Payload } from "../protocol/payload.ts";
import {
  type Answer,
  type Destination,
  type Handler,
  type HandlerLimits,
  methodsOf,
  type ServerProtocol,
} from "../protocol/protocol.ts";
import { readSelector } from "../protocol/selector.ts";
import { createAuthorize } from "./authorize.ts";
import { checkServiceLimits, limitConcurrency, type ServiceLimits } from "./call-limits.ts";
import { withCors } from "./cors.ts";
import { checkService, createHandlers, type ServedMethod } from "./handler.ts";
import type { ResolvedRouterOptions } from "./options.ts";
import { type AddedService, type Resource, withoutBody } from "./resource.ts";

/** Options of one service. */
export interface ServiceOptions extends Selector {
  /** Interceptors of the calls of this service, inside those of the router. Default: none. */
  readonly interceptors?: readonly Interceptor[] | undefined;
  /** Decides whether a call of this service may begin, after that of the router has decided. Default: every call may. */
  readonly authorize?: Authorize | undefined;
  /**
   * Kinds of body that unary methods accept over HTTP RPC besides JSON and proto: a list for all methods, or a list for
   * each method by its TypeScript name (spec: Additional request content types). Parts of a multipart body may be of
   * every kind. Default: all.
   */
  readonly bodies?: readonly string[] | { readonly [method: string]: readonly string[] } | undefined;
  /**
   * Protection against cross-site request forgery (CSRF). True: multipart, form and text bodies are refused with 403 if
   * the browser's `sec-fetch-site` or `origin` shows that a page of another site sent them, unless `cors` allows its
   * origin. Default: true. Use false only for methods that do not act on behalf of the owner of a cookie.
   */
  readonly csrf?: boolean | undefined;
  /**
   * Messages of responses with fewer bytes than this are not compressed: a number for all methods, or a number for each
   * method by its TypeScript name. `Infinity`: responses are never compressed, for example because they contain images.
   * Default: that of the router.
   */
  readonly compressMinBytes?: number | { readonly [method: string]: number } | undefined;
  /** Limits of the calls of this service and of its methods. Default: those of the router. */
  readonly limits?: ServiceLimits | undefined;
}

const SERVICE_OPTION_NAMES: MemberNames<ServiceOptions> = {
  version: true,
  group: true,
  interceptors: true,
  authorize: true,
  bodies: true,
  csrf: true,
  compressMinBytes: true,
  limits: true,
};
const SERVICE_OPTIONS = Object.keys(SERVICE_OPTION_NAMES);

/** The services of a server, which answer HTTP requests of both sub-protocols and are independent of sockets. */
export interface Router {
  /**
   * Adds a service. The implementation is an object or a class instance with a function for every method.
   *
   * The same service may be added again with another version or group (spec: Versioning, point 4). Throws if a service
   * with the same version and group has been added, and a `TypeError` for invalid arguments.
   */
  readonly add: <H extends object>(
    service: ServiceDef<object, H>,
    implementation: NoInfer<H>,
    options?: ServiceOptions,
  ) => this;
  /** The added services, in order. A service with two versions or groups is listed twice. */
  readonly services: readonly AddedService[];
  /**
   * Adds a resource: plain HTTP for requests that are not calls, because no method has their path, or because their
   * HTTP method is not POST. The first resource that serves a request answers.
   */
  readonly mount: (resource: Resource) => this;
  /** The mounted resources, in order. */
  readonly resources: readonly Resource[];
  /** Reports whether a request belongs to a service of the router, even if its method is unknown, or to a resource. */
  readonly serves: (request: Pick<HttpRequest, "method" | "path">) => boolean;
  /** Answers one HTTP request. It never rejects. */
  readonly exchange: Exchange;
  /**
   * Registers a callback for the time when a server begins to close and still answers. A server waits for the promise that
   * it returns. Absent if there is nothing to close.
   */
  readonly onClose?: (callback: () => unknown) => void;
}

/**
 * A handler of a path. Handlers of the same path are a linked list and not an array: most paths have one, and with many
 * methods each further object that a call reads is missing from the caches of the CPU.
 */
interface MethodRoute {
  readonly selector: Selector;
  handler: Handler;
  readonly next: MethodRoute | undefined;
}

/** A destination with the protocol that answers it. */
interface AnsweredDestination extends Destination {
  readonly answer: Answer;
  /** The routes of the router when it found the handler. */
  readonly routes: object;
}

export interface RouterSettings extends ResolvedRouterOptions {
  /** Protocols in the order in which they are tried. The last one answers requests that no other accepts. */
  readonly protocols: readonly ServerProtocol[];
  /** The kinds of body that the protocols support. */
  readonly bodyKinds: readonly string[];
}

/** A resource that calls methods of its router, such as routes of REST. */
export interface CallingResource extends Resource {
  /** Called when the resource is mounted, before {@link onAdd}. */
  readonly onMount: (router: MethodRouter) => void;
}

/** The part of a router that calling resources use. */
export interface MethodRouter {
  readonly options: RouterSettings;
  /** Returns the handler of a method by its path and the selector of a request. */
  readonly find: (path: string, selector: Selector) => Handler | undefined;
  /** Answers a request with a handler, by the protocol that its content type selects. */
  readonly answer: (request: HttpRequest, handler: Handler | undefined) => Promise<HttpResponse>;
}

const isCalling = (resource: Resource): resource is CallingResource => "onMount" in resource;

/** Creates a router. Throws a `TypeError` for invalid options of CORS. */
export function createRouterWith(settings: RouterSettings): Router {
  const routes = new Map<string, MethodRoute>();
  const services: AddedService[] = [];
  const names = new Set<string>();
  /** The paths of methods by the paths of their aliases. A service that is added under such a name takes precedence. */
  const aliases = new Map<string, string>();
  const resources: Resource[] = [];
  const calls = new CallCounts();
  const { protocols, bodyKinds, interceptors, onError, versionMatch, cors } = settings;
  /** Another object after each change of the routes and resources. */
  let settled = {};

  function find(path: string, wanted: Selector): Handler | undefined {
    const first = routes.get(path) ?? routes.get(aliases.get(path) ?? "");
    const found = routeOf(first, wanted);
    if (found !== undefined || versionMatch === "exact") return found?.handler;
    return (routeOf(first, { version: "1.0.0", group: wanted.group }) ?? routeOf(first, {}))?.handler;
  }

  function findResource({ method, path }: Pick<HttpRequest, "method" | "path">): Resource | undefined {
    const target = { method, path: withoutQuery(path) };
    return resources.find((resource) => resource.serves(target));
  }

  function addRoute(path: string, selector: Selector, handler: Handler): void {
    const next = routes.get(path);
    const known = routeOf(next, selector);
    if (known === undefined) routes.set(path, { selector, handler, next });
    else if (isOverload(known.handler, handler)) {
      known.handler = { ...known.handler, overloads: [...(known.handler.overloads ?? []), handler] };
    } else throw new Error(`${path} has been added already`);
  }

  /** Also serves a method with an alias by its names in Java, with which consumers in Java call entries of a registry. */
  function addAlias({ alias, name, path }: Method): void {
    if (alias === undefined) return;
    names.add(alias.service);
    for (const one of [name, alias.method]) aliases.set(`/${alias.service}/${one}`, path);
  }

  /** Returns the answer of the first protocol that accepts a content type. */
  const answerTo = remember((contentType): Answer => {
    for (const protocol of protocols) {
      const answer = protocol.accept(contentType);
      if (answer !== undefined) return answer;
    }
    throw new Error("the last protocol of a router must accept every content type");
  });

  const router: Router & Shown<ServerState> = {
    "~state": () => ({ calls, listening: [], sockets: [] }),
    services,
    resources,
    add(service, implementation, options = {}) {
      settled = {};
      checkService(service, implementation);
      assertMembers("the options of add", options, SERVICE_OPTIONS);
      assertFunctions({ authorize: options.authorize });
      assertArrays({ interceptors: options.interceptors });
      const { version = service.selector?.version, group = service.selector?.group } = options;
      const selector: Selector = { version, group };
      const all = { interceptors: [...interceptors, ...(options.interceptors ?? [])], onError };
      const methods = Object.keys(service.methods);
      const bodies = byMethod("bodies", options.bodies, methods, Array.isArray).map((kinds) =>
        checkBodies(bodyKinds, kinds),
      );
      const isOne = (given: unknown): boolean => typeof given !== "object";
      const compressMinBytes = byMethod("compressMinBytes", options.compressMinBytes, methods, isOne).map((bytes) =>
        assertAmount("compressMinBytes", bytes === undefined ? settings.compressMinBytes : bytes),
      );
      const limited = limiterOf(service, options.limits, settings);
      for (const [index, made] of createHandlers(service, implementation, all, calls).entries()) {
        const { method } = made;
        const { call, limits } = limited(methods[index] as string, made);
        const authorize = createAuthorize([settings.authorize, options.authorize], onError);
        const shedding = settings.shedLoad?.(method);
        const handler: Handler = {
          method,
          payload: payloadOf<Payload>(method)?.server,
          call,
          limits: { ...limits, compressMinBytes: compressMinBytes[index] as number },
          authorize,
          shedding: shedding && { ...shedding, authorize: createAuthorize([shedding.authorize, authorize], onError) },
          bodies: bodies[index] ?? [],
          csrf: options.csrf ?? true,
        };
        for (const path of [method.path, ...(handler.payload?.paths(method) ?? [])]) {
          addRoute(path, selector, handler);
        }
        addAlias(method);
      }
      services.push({ service, selector });
      names.add(service.typeName);
      for (const resource of resources) resource.onAdd?.({ service, selector });
      return router;
    },
    mount(resource) {
      if (resource.path !== undefined && findResource({ method: "GET", path: resource.path }) !== undefined) {
        throw new TypeError(`the router has a resource that answers ${resource.path} already: set another path`);
      }
      settled = {};
      if (isCalling(resource)) resource.onMount({ options: settings, find, answer: answerWith });
      for (const added of services) resource.onAdd?.(added);
      resources.push(resource);
      return router;
    },
    serves: (request) => names.has(serviceOf(request.path)) || findResource(request) !== undefined,
    exchange: cors === undefined ? answer : withCors(answer, cors, (request) => findResource(request) !== undefined),
  };
  return router;

  function answer(request: HttpRequest): Promise<HttpResponse> {
    const { memo } = request;
    const known = memo?.result as AnsweredDestination | undefined;
    if (known?.routes === settled) return known.answer(request, known);
    const { headers } = request;
    const path = withoutQuery(request.path);
    const selector = readSelector(headers);
    const handler = find(path, selector);
    if (resources.length > 0 && (handler === undefined || request.method !== "POST")) {
      const resource = findResource(request);
      if (resource !== undefined) {
        // A resource of the user may throw.
        const answering = new Promise<HttpResponse>((resolve) => resolve(resource.exchange(request)));
        return request.method === "HEAD" ? answering.then(withoutBody) : answering;
      }
    }
    return answerWith(request, handler, selector);
  }

  function answerWith(request: HttpRequest, handler?: Handler, selector = readSelector(request.headers)) {
    const answer = answerTo(request.headers.get("content-type") ?? "");
    const destination: AnsweredDestination = { handler, selector, headers: undefined, answer, routes: settled };
    if (request.memo !== undefined) request.memo.result = destination;
    return answer(request, destination);
  }
}

/**
 * Reports whether calls of the method can be distinguished from those of all other methods with the same path. Streams
 * cannot, because they begin before their first message arrives.
 */
function isOverload(known: Handler, { method, payload }: Handler): boolean {
  const others = methodsOf(known);
  return (
    method.kind === "unary" &&
    others.every((other) => other.kind === "unary" && payload?.isOverload(method, other) === true)
  );
}

/** Returns the function that applies a service's limits. Throws a `TypeError` or `RangeError` for invalid ones. */
function limiterOf(
  { typeName, methods }: ServiceDef<object, object>,
  limits: ServiceLimits = {},
  defaults: RouterSettings,
): (name: string, method: ServedMethod) => { call: Call; limits: Omit<HandlerLimits, "compressMinBytes"> } {
  checkServiceLimits(limits, Object.keys(methods));
  const limitAll = limitConcurrency(limits, typeName);
  return (name, { call, method }) => {
    const own = limits.methods?.[name] ?? {};
    const limitOf = (limit: "maxMessageBytes" | "maxMessageValues" | "maxTimeoutMs"): number =>
      own[limit] ?? limits[limit] ?? defaults[limit];
    return {
      call: limitAll(limitConcurrency(own, method.path)(call)),
      limits: {
        maxMessageBytes: limitOf("maxMessageBytes"),
        maxMessageValues: limitOf("maxMessageValues"),
        maxTimeoutMs: limitOf("maxTimeoutMs"),
        serializations: defaults.serializations,
      },
    };
  };
}

/** Returns an option of each method, which is given for all (`isOne`) or by name. Throws a `TypeError` for an unknown method. */
function byMethod<Value>(
  option: string,
  given: Value | { readonly [method: string]: Value } | undefined,
  methods: readonly string[],
  isOne: (given: unknown) => boolean,
): (Value | undefined)[] {
  if (given === undefined || isOne(given)) return methods.map(() => given as Value | undefined);
  const byName = given as { readonly [method: string]: Value };
  assertMembers(option, byName, methods);
  return methods.map((name) => byName[name]);
}

/** Returns the kinds of body of a method. Throws a `TypeError` for an unknown kind. */
function checkBodies(all: readonly string[], kinds: readonly string[] = all): readonly string[] {
  const unknown = kinds.find((kind) => !all.includes(kind));
  if (unknown === undefined) return kinds;
  throw new TypeError(`bodies: "${unknown}" is not among: ${all.join(", ")}`);
}

/** Returns the name of the service in a path of a call, `/<service>/<method>`; empty for other paths. */
function serviceOf(target: string): string {
  return target.slice(1, Math.max(1, target.indexOf("/", 1)));
}

/** Returns the path of a request target, without its query. */
function withoutQuery(target: string): string {
  const end = target.indexOf("?");
  return end < 0 ? target : target.slice(0, end);
}

/** Returns the route of a list with this version and group. An absent value equals an empty one. */
function routeOf(first: MethodRoute | undefined, { version = "", group = "" }: Selector): MethodRoute | undefined {
  for (let route = first; route !== undefined; route = route.next) {
    const { selector } = route;
    if ((selector.version || "") === version && (selector.group || "") === group) return route;
  }
  return undefined;
}
