/** The client engine on `fetch`, for browsers and all other platforms with `fetch`. */
import { Code } from "../call/code.ts";
import { abortError, RpcError, reasonOf } from "../call/error.ts";
import { Metadata } from "../call/metadata.ts";
import type { Exchange } from "../http/exchange.ts";
import { readBody, readHeaders } from "./message.ts";
import type { FetchTransportOptions } from "./transport.ts";

/** The server of a transport on `fetch`, and how to reach it. */
type FetchOptions = Pick<FetchTransportOptions, "baseUrl" | "credentials" | "fetch">;

/** Matches an absolute URL, or a path on the page's origin. The empty path is the root. */
const BASE_URL = /^(https?:\/\/.|\/|$)[^?#]*$/i;

/**
 * Creates an exchange on `fetch`, the base of a transport. Response bodies are already decompressed, although the headers
 * still contain `content-encoding`. Throws a `TypeError` for an invalid base URL.
 */
export function connectFetch(options: FetchOptions): Exchange {
  // Without options, the check of the URL fails.
  const { baseUrl, fetch: given, credentials } = options ?? {};
  if (typeof baseUrl !== "string" || !BASE_URL.test(baseUrl)) {
    throw new TypeError(`baseUrl "${baseUrl}" must start with http://, https:// or / and have no query`);
  }
  const prefix = baseUrl.replace(/\/$/, "");
  return async ({ method, path, headers, body, signal, context }) => {
    if (context) context.target = baseUrl;
    // The global fetch is read on every call, because tests replace it after the transport was created.
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
 * Returns the options with a `fetch` whose error messages contain the reason of a failure. In Node, the reason is the
 * error's cause, a system error, which has only a code if the host has several addresses. Browsers hide the reason from
 * pages: a refused origin looks like an unreachable server, so the message mentions both. The entry point `triple-es/json`
 * omits this function to save bytes.
 */
export function withReasons<Options extends FetchOptions>(options: Options): Options {
  const { baseUrl, fetch: given } = options ?? {};
  const send = async (input: Parameters<typeof fetch>[0], init?: RequestInit): Promise<Response> => {
    try {
      return await (given ?? globalThis.fetch)(input, init);
    } catch (cause) {
      // The cause of an unexpected certificate lists all its names.
      throw new TypeError(`${reasonOf(cause)}${hintFor(cause, baseUrl)}`.slice(0, 300), { cause });
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
