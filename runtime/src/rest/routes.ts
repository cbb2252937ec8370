/** REST routes of the methods of a router, by `google.api.http`. */
import { fromJson } from "@bufbuild/protobuf";
import { type HttpRule, HttpRuleSchema } from "../gen/google/api/http_pb.ts";
import type { Resource } from "../server/resource.ts";
import type { Router } from "../server/router.ts";
import type { Route } from "./rule.ts";
import { RestServer } from "./server.ts";

/** A rule of `google.api.HttpRule` in JSON. One of `get`, `put`, `post`, `delete`, `patch` and `custom` is required. */
export interface RestRule {
  /** Full name of the method, such as `greet.v1.GreetService.Greet`. */
  readonly selector: string;
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
  /** Other routes of the method. Default: none. */
  readonly additionalBindings?: readonly Omit<RestRule, "selector" | "additionalBindings">[] | undefined;
}

/**
 * Adds the routes of `google.api.http` to a router or server: those of the services that have been added, and of those
 * that are added later. A method that is declared to have no side effects, and has no rule, can be called with GET at
 * its own path, with query parameters.
 *
 * Throws a `TypeError` for an invalid rule, and an `Error` if two methods have the same route; `add` throws them for services
 * that are added later.
 */
export function addRest(
  router: Router,
  options: {
    /**
     * Rules in addition to the annotations of the proto files, as in the service configuration of gRPC: a rule replaces the
     * annotation of its method. Default: none.
     */
    readonly rules?: readonly RestRule[] | undefined;
  } = {},
): void {
  router.mount(new RestServer(readRules(options.rules ?? [])));
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
  return resources.flatMap((one) => (one instanceof RestServer ? one.routes : []));
}
