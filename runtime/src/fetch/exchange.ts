/**
 * The client engine on `fetch`, for browsers and every other platform that has it.
 */
import { Code } from "../call/code.ts";
import { abortError, RpcError, reasonOf } from "../call/error.ts";
import { Metadata } from "../call/metadata.ts";
import type { Exchange } from "../http/exchange.ts";
import { readBody, readHeaders } from "./message.ts";

export interface FetchOptions {
  /** The URL of the server: absolute, or in a browser a path on the page's own origin. */
  readonly baseUrl: string;
  /** Mode for cookies and other credentials. Default: that of `fetch`, `same-origin`. */
  readonly credentials?: "omit" | "same-origin" | "include" | undefined;
  /** Used in place of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** An absolute URL, or a path on the page's own origin, where the empty path is the root. */
const BASE_URL = /^(https?:\/\/.|\/|$)[^?#]*$/i;

/**
 * Makes an exchange on `fetch`, the base of a transport. Bodies of responses arrive inflated, although their header fields still
 * name a `content-encoding`. Throws a `TypeError` for an invalid base URL.
 */
export function connectFetch(options: FetchOptions): Exchange {
  const { baseUrl, credentials, fetch: given } = options;
  if (typeof baseUrl !== "string" || !BASE_URL.test(baseUrl)) {
    throw new TypeError(`baseUrl "${baseUrl}" must start with http://, https:// or / and have no query`);
  }
  const prefix = baseUrl.replace(/\/$/, "");
  return async ({ method, path, headers, body, signal }) => {
    // Read on every call: tests replace the global fetch after the transport was made.
    const send = given ?? globalThis.fetch;
    const init: RequestInit = {
      method,
      headers: [...headers],
      body: body.whole as Uint8Array<ArrayBuffer>,
      redirect: "manual",
      signal: signal as AbortSignal,
      ...(credentials && { credentials }),
    };
    let response: Response;
    try {
      response = await send(prefix + path, init);
    } catch (cause) {
      if (signal?.aborted) throw abortError(signal);
      throw new RpcError(Code.Unavailable, `cannot reach ${prefix}: ${reasonOf(cause)}`, { cause });
    }
    return {
      status: response.status,
      headers: readHeaders(response.headers),
      body: readBody(response.body, { signal }, (reason) => `the body ended early: ${reason}`),
      trailers: new Metadata(),
    };
  };
}

/**
 * Returns the options with a `fetch` whose errors give the reason of a failure. In Node it is in the error's cause, the error of the
 * system, which has only a code if the host has several addresses. Browsers hide it from pages, so a refused origin looks like an
 * unreachable server, and the message names both. Clients of plain JSON leave this out to save bytes.
 */
export function withReasons<Options extends FetchOptions>(options: Options): Options {
  const { baseUrl, fetch: given } = options;
  const send = async (input: Parameters<typeof fetch>[0], init?: RequestInit): Promise<Response> => {
    try {
      return await (given ?? globalThis.fetch)(input, init);
    } catch (cause) {
      throw new TypeError(`${reasonOf(cause)}${hintFor(cause, baseUrl)}`, { cause });
    }
  };
  return { ...options, fetch: send };
}

function hintFor(failure: unknown, baseUrl: string): string {
  const { cause } = Object(failure) as { readonly cause?: Error & { readonly code?: string } };
  if (cause) return `: ${cause.message || (cause.code ?? cause)}`;
  const { origin } = globalThis as { readonly origin?: string };
  const isOwn = !/^http/i.test(baseUrl) || `${baseUrl}/`.startsWith(`${origin}/`);
  return origin && !isOwn ? ", or it does not allow pages of this origin (option cors)" : "";
}
