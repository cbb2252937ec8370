/**
 * The router: finds the handler behind a path and lets the protocol of the request answer. It only chooses; what is
 * said, even "not found", is the protocol's business.
 */
import type { Handler, Interceptor, Selector, ServiceDef } from "./call.ts";
import type { ErrorHook } from "./error.ts";
import type { Exchange } from "./exchange.ts";
import { createHandlers } from "./handler.ts";
import { readSelector, type ServerProtocol } from "./protocol.ts";

/** Options of one service. */
export interface ServiceOptions extends Selector {
  /** Around the calls of this service, inside those of the router. */
  readonly interceptors?: readonly Interceptor[];
}

/** A service that has been added to a router, and what it answers to. */
export interface AddedService {
  readonly service: ServiceDef<object, object>;
  readonly selector: Selector;
}

export interface Router {
  /**
   * Adds a service. The implementation is an object or a class instance with a function for every method.
   *
   * The same service may be added again under another version or group (spec: Versioning, point 4); under the same ones
   * it throws.
   */
  add<H extends object>(service: ServiceDef<object, H>, implementation: NoInfer<H>, options?: ServiceOptions): this;
  /** What has been added so far, in that order. A service under two versions or groups is there twice. */
  readonly services: readonly AddedService[];
  /** Answers one HTTP request. It never rejects. */
  readonly exchange: Exchange;
  /** Calls back when a server begins to close, while it still answers. Absent where there is nothing to close. */
  readonly onClose?: (callback: () => void) => void;
}

interface Route {
  readonly selector: Selector;
  readonly handler: Handler;
}

export interface RouterSettings {
  /** Tried in order. The last one answers whatever no other accepts. */
  readonly protocols: readonly ServerProtocol[];
  readonly interceptors: readonly Interceptor[];
  readonly onError: ErrorHook;
  readonly versionMatch: VersionMatch;
}

/**
 * How the version and group of a request choose among the services of one name (spec: Versioning, point 4). `exact`: they
 * must be the same. `fallback`: where none is the same, version 1.0.0 of the same group will do, then the service that has
 * neither, as in Dubbo for Java.
 */
export type VersionMatch = "exact" | "fallback";

export function createRouterWith(settings: RouterSettings): Router {
  const routes = new Map<string, Route[]>();
  const services: AddedService[] = [];
  const { protocols, interceptors, onError, versionMatch } = settings;

  function find(path: string, wanted: Selector): Handler | undefined {
    const found = findExactly(path, wanted);
    if (found !== undefined || versionMatch === "exact") return found;
    return findExactly(path, { version: "1.0.0", group: wanted.group }) ?? findExactly(path, {});
  }

  function findExactly(path: string, wanted: Selector): Handler | undefined {
    for (const { selector, handler } of routes.get(path) ?? []) {
      if (matches(selector, wanted)) return handler;
    }
    return undefined;
  }

  return {
    services,
    add(service, implementation, options = {}) {
      const { version, group } = { ...service.selector, ...options };
      const selector: Selector = { version, group };
      const all = { interceptors: [...interceptors, ...(options.interceptors ?? [])], onError };
      for (const handler of createHandlers(service, implementation, all)) {
        const { path } = handler.method;
        if (findExactly(path, selector) !== undefined) throw new Error(`${path} has been added already`);
        routes.set(path, [...(routes.get(path) ?? []), { selector, handler }]);
      }
      services.push({ service, selector });
      return this;
    },
    exchange(request) {
      const contentType = request.headers.get("content-type") ?? "";
      const protocol = protocols.find((one) => one.accepts(contentType)) ?? protocols.at(-1);
      if (protocol === undefined) throw new Error("a router needs a protocol");
      return protocol.serve(request, find(withoutQuery(request.path), readSelector(request.headers)));
    },
  };
}

/** The part of a request target that names a method. Everything after it is nobody's business here. */
function withoutQuery(target: string): string {
  const end = target.indexOf("?");
  return end < 0 ? target : target.slice(0, end);
}

/** Exactly the same; absent and empty are the same too. */
function matches(registered: Selector, wanted: Selector): boolean {
  return (registered.version || "") === (wanted.version || "") && (registered.group || "") === (wanted.group || "");
}
