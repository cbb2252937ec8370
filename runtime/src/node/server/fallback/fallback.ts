/**
 * The fallback of a server: the application that answers the requests that are not calls, in the shape of `node:http` or of
 * `fetch`.
 */
import type { ErrorHook } from "../../../call/error.ts";
import type { Exchange, HttpRequest } from "../../../http/exchange.ts";
import type { FallbackApplication } from "../server-options.ts";
import { fetchExchange } from "./fetch.ts";
import { guardListener, nodeExchange } from "./node.ts";

/** A fallback, as engines use it. */
export interface Fallback {
  /** Reports whether the router answers the request, and not the fallback. */
  readonly isCall: (request: HttpRequest) => boolean;
  readonly exchange: Exchange;
}

/**
 * Creates the fallback of an application. `trusting` applies the option `trustProxy`, which listeners of `node:http` have
 * their own option for. Throws a `TypeError` for a value that is not an application.
 */
export function createFallback(
  application: FallbackApplication,
  isCall: Fallback["isCall"],
  onError: ErrorHook,
  trusting: (exchange: Exchange) => Exchange,
): Fallback {
  if (typeof application === "function") {
    return { isCall, exchange: nodeExchange(guardListener(application, onError)) };
  }
  if (typeof application?.fetch === "function") {
    return { isCall, exchange: trusting(fetchExchange(application, onError)) };
  }
  throw new TypeError("fallback must be a function (request, response) as for node:http, or an object with fetch");
}
