/**
 * The door for browsers, and for servers that answer `Request` with `Response`. It speaks sub-protocol A: fetch has no
 * way to read or write the trailers that sub-protocol B needs.
 */
import { type Interceptor, intercept } from "./call.ts";
import type { Transport } from "./client.ts";
import { Code } from "./code.ts";
import { type Codec, findCodec } from "./codec.ts";
import { abortError, RpcError } from "./error.ts";
import { type Body, type Exchange, emptyBody, type HttpRequest, pathsBelow, streamBody } from "./exchange.ts";
import { createHttpRpcClient } from "./http-rpc/client.ts";
import { Metadata } from "./metadata.ts";
import { resolveOptions } from "./protocol.ts";
import type { Router } from "./router.ts";

export interface TransportOptions {
  /** Where the server is: an absolute URL, or in a browser a path on the page's own origin. */
  readonly baseUrl: string;
  /** How messages are encoded. Default: `json`. */
  readonly codec?: "proto" | "json" | Codec | undefined;
  /** What a message in JSON is sent as: the specification's array of one, or the bare object. Default: `array`. */
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

/** Makes a transport on `fetch`. It carries unary calls. */
export function createTransport(options: TransportOptions): Transport {
  const exchange = connectFetch(options);
  const codecs = [findCodec(options.codec ?? "json")];
  // The browser compresses and inflates on its own.
  const call = createHttpRpcClient(exchange, resolveOptions({ ...options, codecs, compressions: [] }));
  return { call: intercept(call, options.interceptors), close: async () => {} };
}

/** Fields that tell how the bytes travelled, which is over when fetch hands them out. */
const TRANSFER_FIELDS = new Set(["content-encoding", "content-length", "transfer-encoding"]);

/** Makes an exchange on `fetch`: what transports are built on. */
export function connectFetch(options: Pick<TransportOptions, "baseUrl" | "credentials" | "fetch">): Exchange {
  const { baseUrl, credentials, fetch: given } = options;
  const prefix = baseUrl.replace(/\/$/, "");
  return async ({ method, path, headers, body, signal }) => {
    // Read on every call, so that a fetch that is replaced later, as tests do, is used.
    const send = given ?? globalThis.fetch;
    const init: RequestInit = {
      method,
      headers: [...headers],
      body: body.whole ?? new Uint8Array(),
      redirect: "manual",
    };
    if (credentials !== undefined) init.credentials = credentials;
    if (signal !== undefined) init.signal = signal;
    let response: Response;
    try {
      response = await send(prefix + path, init);
    } catch (cause) {
      if (signal?.aborted) throw abortError(signal);
      throw new RpcError(Code.Unavailable, `cannot reach ${prefix}: ${reasonOf(cause)}`, { cause });
    }
    return {
      status: response.status,
      headers: readHeaders(response.headers).filter((name) => !TRANSFER_FIELDS.has(name)),
      body: readBody(response.body, signal, (reason) => `the body ended early: ${reason}`),
      trailers: new Metadata(),
    };
  };
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
    const response = await router.exchange(readRequest(request, pathOf(new URL(request.url).pathname)));
    const body = response.body.whole ?? (await response.body.bytes(Number.MAX_SAFE_INTEGER));
    // An empty body is none, because the answer to a preflight must have none.
    return new Response(body.byteLength === 0 ? null : body, {
      status: response.status,
      headers: [...response.headers],
    });
  };
}

function readRequest(request: Request, path: string): HttpRequest {
  return {
    method: request.method,
    path,
    version: "1.1",
    headers: readHeaders(request.headers),
    body: readBody(request.body, request.signal, () => "the body of the request ended early"),
    signal: request.signal,
  };
}

function readHeaders(headers: Headers): Metadata {
  return Metadata.fromRaw([...headers].flat());
}

/** `lost` tells of a body that ended early; its words may travel to a peer. */
function readBody(
  stream: ReadableStream<Uint8Array> | null,
  signal: AbortSignal | undefined,
  lost: (reason: string) => string,
): Body {
  return stream === null ? emptyBody : streamBody(readChunks(stream, signal, lost));
}

async function* readChunks(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
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
    if (signal?.aborted) throw abortError(signal);
    throw new RpcError(Code.Unavailable, lost(reasonOf(cause)), { cause });
  } finally {
    // Without effect on a body that was read to its end.
    reader.cancel().catch(() => {});
  }
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
