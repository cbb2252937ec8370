/**
 * The door for browsers, and for servers that answer `Request` with `Response`. It speaks sub-protocol A: fetch has no
 * way to read or write the trailers that sub-protocol B needs.
 */
import { type Interceptor, intercept } from "./call/call.ts";
import { Code } from "./call/code.ts";
import { abortError, RpcError, reasonOf } from "./call/error.ts";
import { Metadata } from "./call/metadata.ts";
import { assertOneOf } from "./call/option.ts";
import { onAbort } from "./call/timer.ts";
import type { Transport } from "./client/client.ts";
import { type Codec, findCodec } from "./codec/codec.ts";
import { type Body, type Exchange, emptyBody, type HttpRequest, pathsBelow, streamBody } from "./http/exchange.ts";
import { acceptExchange } from "./http-rpc/accept-exchange.ts";
import { codecPayload } from "./http-rpc/arguments.ts";
import { createUnaryCall, refuseStreams } from "./http-rpc/client.ts";
import { resolveUnaryOptions } from "./protocol/options.ts";
import type { Router } from "./server/router.ts";

export interface TransportOptions {
  /** Where the server is: an absolute URL, or in a browser a path on the page's own origin. */
  readonly baseUrl: string;
  /** How messages are encoded. Default: `json`. */
  readonly codec?: "proto" | "json" | Codec | undefined;
  /** The codec of responses, which the header `accept` asks for. Default: that of requests, without the header. */
  readonly accept?: "proto" | "json" | Codec | undefined;
  /**
   * What a message in JSON is sent as: the specification's array of one, or the bare object. The same goes for an only
   * argument of a method without IDL, whatever it is. Default: `array`.
   */
  readonly jsonBody?: "array" | "object" | undefined;
  /**
   * Whether methods are called by the names Dubbo for Java has for them, which a Java server wants and which are there in
   * code generated with `java_names`. Default: false, the names of the proto file.
   */
  readonly javaNames?: boolean | undefined;
  /** Whether cookies and other credentials are sent. Default: fetch's own, `same-origin`. */
  readonly credentials?: "omit" | "same-origin" | "include" | undefined;
  /** Largest message accepted from the server, in bytes. Default: 4 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** Around every call, the first one outermost. */
  readonly interceptors?: readonly Interceptor[] | undefined;
  /** Used in place of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** Makes a transport on `fetch`. It carries unary calls, and has nothing to close: its connections are those of the platform. */
export function createTransport(options: TransportOptions): Transport {
  const exchange = connectFetch(withReasons(options));
  assertOneOf("jsonBody", options.jsonBody ?? "array", ["array", "object"]);
  const accept = options.accept && findCodec(options.accept);
  const payload = codecPayload(findCodec(options.codec ?? "json"), accept);
  // The browser compresses and inflates on its own.
  const call = refuseStreams(createUnaryCall(acceptExchange(exchange, accept), payload, resolveUnaryOptions(options)));
  return { call: intercept(call, options.interceptors) };
}

/** An absolute URL, or a path on the page's own origin. The empty one is its root. */
const BASE_URL = /^(https?:\/\/.|\/|$)[^?#]*$/i;

/**
 * Makes an exchange on `fetch`: what transports are built on. Its responses still have the fields that tell how the bytes
 * travelled, such as `content-encoding`, which is over when fetch hands them out: do not inflate again. Throws a `TypeError`
 * for a base URL that is none.
 */
export function connectFetch(options: Pick<TransportOptions, "baseUrl" | "credentials" | "fetch">): Exchange {
  const { baseUrl, credentials, fetch: given } = options;
  if (typeof baseUrl !== "string" || !BASE_URL.test(baseUrl)) {
    throw new TypeError(`baseUrl "${baseUrl}" must start with http://, https:// or / and have no query`);
  }
  const prefix = baseUrl.replace(/\/$/, "");
  return async ({ method, path, headers, body, signal }) => {
    // Read on every call, so that a fetch that is replaced later, as tests do, is used.
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
 * The options with a fetch whose errors tell why it has failed. Node has that in their cause, the system's error, which has only a code
 * where a host has several addresses. Browsers do not tell pages, so that they cannot find out what is there: a refused origin looks
 * like a server that is away. Plain JSON does without, for its size.
 */
export function withReasons<Options extends Pick<TransportOptions, "baseUrl" | "fetch">>(options: Options): Options {
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

/** Answers a `Request` with a `Response`, as Bun, Deno, Hono and many others want it. */
export type FetchHandler = (request: Request) => Promise<Response>;

export interface FetchHandlerOptions {
  /** The path in front of those of the methods, such as `/api`, where the framework leaves it on. Default: none. */
  readonly prefix?: string | undefined;
}

/** Makes a handler that serves the router's unary methods over sub-protocol A. It never rejects. */
export function fetchHandler(router: Router, options: FetchHandlerOptions = {}): FetchHandler {
  const pathOf = pathsBelow(options.prefix);
  return async (request) => {
    const received = new FetchRequest(request, new URL(request.url), pathOf);
    const response = await router.exchange(received);
    const body = response.body.whole ?? (await response.body.bytes(Number.MAX_SAFE_INTEGER));
    received.close();
    // An empty body is none, because the answer to a preflight must have none.
    return new Response(body.byteLength === 0 ? null : body, {
      status: response.status,
      headers: [...response.headers],
      // Cloudflare Workers would compress a body with content-encoding once more.
      ...MANUAL_ENCODING,
    });
  };
}

const MANUAL_ENCODING = { encodeBody: "manual" } as const;

/** A `Request` as an exchange wants it. */
class FetchRequest implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly version = "1.1";
  readonly authority: string;
  readonly headers: Metadata;
  readonly body: Body;
  readonly #request: Request;
  #controller: AbortController | undefined;
  #unlink = (): void => {};
  #closed = false;

  constructor(request: Request, { host, pathname }: URL, pathOf: (target: string) => string) {
    this.method = request.method;
    this.path = pathOf(pathname);
    this.authority = host;
    this.headers = readHeaders(request.headers);
    this.body = readBody(request.body, request, () => "the body of the request ended early");
    this.#request = request;
  }

  /** Not the request's own, which fires on success too where Deno made it, and says so when somebody asks for it. */
  get signal(): AbortSignal {
    const controller = this.#controller ?? new AbortController();
    if (this.#controller === undefined && !this.#closed) {
      this.#unlink = onAbort(this.#request.signal, (error) => controller.abort(error));
    }
    this.#controller = controller;
    return controller.signal;
  }

  /** There is a response: the signal will not fire any more. */
  close(): void {
    this.#closed = true;
    this.#unlink();
  }
}

function readHeaders(headers: Headers): Metadata {
  return Metadata.fromRaw([...headers].flat());
}

/** Whoever has the signal that says why a body ended early. */
interface Owner {
  readonly signal: AbortSignal | undefined;
}

/** `lost` tells of a body that ended early; its words may travel to a peer. */
function readBody(stream: ReadableStream<Uint8Array> | null, owner: Owner, lost: (reason: string) => string): Body {
  return stream === null ? emptyBody : streamBody(readChunks(stream, owner, lost));
}

async function* readChunks(
  stream: ReadableStream<Uint8Array>,
  owner: Owner,
  lost: (reason: string) => string,
): AsyncGenerator<Uint8Array, void> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (cause) {
    const { signal } = owner;
    if (signal?.aborted) throw abortError(signal);
    throw new RpcError(Code.Unavailable, lost(reasonOf(cause)), { cause });
  } finally {
    // Without effect on a body that was read to its end.
    reader.cancel().catch(() => {});
  }
}
