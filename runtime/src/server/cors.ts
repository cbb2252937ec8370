/**
 * CORS (Fetch standard): lets pages of other origins call a server and read the metadata of its responses. It wraps an
 * exchange, so it works with every server and does not depend on protocols or services.
 */
import { Code, Status } from "../call/code.ts";
import { Metadata } from "../call/metadata.ts";
import { assertMembers } from "../call/option.ts";
import { emptyBody } from "../http/body.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../http/exchange.ts";
import { errorBody } from "../protocol/error.ts";
import { textResponse } from "./resource.ts";

/** The name of an HTTP method that pages may use. */
const METHOD_NAME = /^[A-Z]+$/;
// 1#field-name, the form in which preflight requests list names
const HEADER_LIST = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:\s*,\s*[!#$%&'*+.^_`|~0-9A-Za-z-]+)*$/;

/** Origins whose pages may call a server (CORS). */
export interface CorsOptions {
  /** Origins whose pages may call, such as `https://app.example.com`, or `"*"` for all. */
  readonly origins: readonly string[] | "*";
  /** True if pages may send cookies and other credentials. Requires a list of origins. Default: false. */
  readonly credentials?: boolean | undefined;
}

/** Time in seconds for which a browser may cache the response to its preflight: the maximum of some browsers. */
const MAX_AGE_S = 7_200;

/**
 * Answers preflight requests, and adds to responses the fields that allow pages to read them. `servesMethod` reports whether
 * pages may use another HTTP method than POST at a path. Throws a `TypeError` for invalid options.
 */
export function withCors(
  exchange: Exchange,
  options: CorsOptions,
  servesMethod: (request: Pick<HttpRequest, "method" | "path">) => boolean,
): Exchange {
  const { origins, credentials = false } = checkOptions(options);
  const allows = createOriginPolicy(options);

  /** Returns the response fields for a page of the origin, or `undefined` if the origin is not allowed. */
  function grant(origin: string): Metadata | undefined {
    if (!allows(origin, false)) return undefined;
    const fields = new Metadata({ "access-control-allow-origin": origins === "*" ? "*" : origin });
    return credentials ? fields.append("access-control-allow-credentials", "true") : fields;
  }

  function answerPreflight(origin: string, { headers, path }: HttpRequest): HttpResponse {
    const granted = grant(origin);
    if (granted === undefined) return refusal(origin);
    const method = headers.get("access-control-request-method") ?? "";
    const isServed = METHOD_NAME.test(method) && method !== "POST" && servesMethod({ method, path });
    granted.append("access-control-allow-methods", isServed ? method : "POST");
    // The names of metadata are not known in advance, so every name that the page requests is allowed.
    const wanted = headers.get("access-control-request-headers") ?? "";
    if (HEADER_LIST.test(wanted)) granted.append("access-control-allow-headers", wanted);
    granted.append("access-control-max-age", String(MAX_AGE_S));
    granted.append("vary", "origin, access-control-request-headers");
    return { status: 204, headers: granted, body: emptyBody, trailers: new Metadata() };
  }

  return async (request) => {
    const origin = request.headers.get("origin");
    const isPreflight = request.method === "OPTIONS" && request.headers.has("access-control-request-method");
    if (origin !== undefined && isPreflight) return answerPreflight(origin, request);
    const response = await exchange(request);
    const headers = new Metadata(response.headers);
    const granted = origin === undefined ? undefined : grant(origin);
    if (granted !== undefined) {
      headers.appendAll(granted);
      const exposed = exposedNames(response.headers);
      if (exposed !== "") headers.append("access-control-expose-headers", exposed);
    }
    if (origins !== "*") headers.append("vary", "origin");
    return { ...response, headers };
  };
}

/**
 * Creates the function that decides whether pages of an origin may call, with credentials or without. It also applies
 * to requests that need no preflight, such as those of HTML forms.
 */
export function createOriginPolicy({ origins, credentials }: CorsOptions) {
  return (origin: string, withCredentials: boolean): boolean =>
    (origins === "*" || origins.includes(origin)) && (!withCredentials || credentials === true);
}

/** Response headers that every page may read (CORS-safelisted response-header names). */
const SAFELISTED = new Set([
  "cache-control",
  "content-language",
  "content-length",
  "content-type",
  "expires",
  "pragma",
]);

/** Returns the names of all other fields of a response: `*` has no effect on requests with credentials. */
function exposedNames(headers: Metadata): string {
  const names = new Set(Array.from(headers, ([name]) => name).filter((name) => !SAFELISTED.has(name)));
  return [...names].join(", ");
}

function refusal(origin: string): HttpResponse {
  const message = `pages of the origin ${origin} may not call this server`;
  const body = errorBody(Status.BadRequest, message, Code.PermissionDenied);
  return textResponse(403, "application/json", JSON.stringify(body), { vary: "origin" });
}

function checkOptions(options: CorsOptions): CorsOptions {
  const { origins, credentials } = Object(options) as CorsOptions;
  if (credentials && origins === "*") {
    throw new TypeError(`cors: credentials need a list of origins; "*" would let every page act as its visitor`);
  }
  if (origins !== "*" && !Array.isArray(origins)) {
    throw new TypeError('cors takes { origins: ["https://app.example.com"] } or { origins: "*" }');
  }
  assertMembers("cors", options, ["origins", "credentials"]);
  const wrong = origins === "*" ? [] : origins.filter((origin) => !isOrigin(origin));
  if (wrong.length === 0) return options;
  throw new TypeError(
    `cors: "${wrong[0]}" is not an origin; it must be like https://app.example.com, with no path; origins: "*" allows all`,
  );
}

function isOrigin(text: string): boolean {
  try {
    const { origin, protocol, host } = new URL(text);
    // `URL` returns the origin "null" for the schemes of browser extensions.
    return origin === "null" ? text === `${protocol}//${host}` && host !== "" : origin === text;
  } catch {
    return false;
  }
}
